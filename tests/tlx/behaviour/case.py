"""A kernel with its arguments and the answer that its rule gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: NumPy's names of types → Triton's
SHORT = {"float16": "fp16", "float32": "fp32", "int32": "i32", "int64": "i64"}


@dataclass(frozen=True, slots=True)
class Described:
    """A matrix that the kernel sees through a descriptor."""

    array: np.ndarray
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One launch."""

    kernel: Any
    #: makes the arguments afresh: arrays, ``Described``, numbers
    arguments: Callable[[], tuple[Any, ...]]
    #: index of an argument → what it must hold afterwards, from the arguments as they were
    answers: Mapping[int, Callable[..., Any]]
    constants: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    warps: int = 4
    #: compared up to this relative error; 0 for equality
    tolerance: float = 0.0
    #: oldest Triton that compiles it
    triton: tuple[int, int] = (3, 6)
    #: whether the answer depends on single threads or on time, which the simulator does not have
    threads: bool = False

    def wanted(self, arguments: tuple[Any, ...]) -> dict[int, np.ndarray]:
        """The answers, from copies of the arguments that nobody has written to yet."""
        plain = [array(argument).copy() if has_memory(argument) else argument for argument in arguments]
        return {index: np.asarray(answer(*plain)) for index, answer in self.answers.items()}

    def check(self, index: int, got: np.ndarray, wanted: np.ndarray) -> None:
        """Raises ``AssertionError`` where an argument does not hold what it must."""
        np.testing.assert_allclose(
            got.astype(np.float64),
            np.broadcast_to(wanted, got.shape).astype(np.float64),
            rtol=self.tolerance,
            atol=self.tolerance,
            err_msg=f"{self.kernel.__name__}, argument {index}",
        )

    @property
    def signature(self) -> dict[str, str]:
        """Types of the arguments, as ``tlx.compile`` takes them."""
        return dict(zip(self.kernel.arg_names, map(type_of, self.arguments()), strict=False))


def has_memory(argument: Any) -> bool:
    """Whether a kernel can write to it."""
    return isinstance(argument, np.ndarray | Described)


def array(argument: Any) -> np.ndarray:
    """The memory behind an argument."""
    return argument.array if isinstance(argument, Described) else argument


def type_of(argument: Any) -> str:
    """The argument's type in a signature."""
    if isinstance(argument, Described):
        return f"tensordesc<{SHORT[str(argument.array.dtype)]}[{','.join(map(str, argument.block))}]>"
    if isinstance(argument, np.ndarray):
        return f"*{SHORT[str(argument.dtype)]}"
    return "i32"
