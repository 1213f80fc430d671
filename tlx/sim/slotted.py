"""What kernels can index: ``buf[i]`` is ``tlx.local_view(buf, i)``."""

from __future__ import annotations

from typing import Any, ClassVar


class Slotted:
    """A buffer, a view or an array of barriers."""

    __slots__ = ()

    #: the semantic layer, which reports an index out of range
    ops: ClassVar[Any] = None

    def __getitem__(self, index: Any) -> Any:
        return self.ops.shared_view(self, index)
