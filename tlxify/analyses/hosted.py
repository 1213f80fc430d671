"""Descriptors that the caller makes and passes: what they describe is known when the kernel is launched.

Extents and strides are what the live object says then. How long its blocks are decides what the kernel computes: that
is read from the host's code beside the kernel, or follows from what the blocks meet, and is confirmed at launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import Decline
from ..parse.descriptors import Blocks, blocks_of
from ..poly import ONE, Poly, Symbol
from ..source import Span
from .boxes import Box
from .values import MISSING, Scope, Value

if TYPE_CHECKING:
    from ..model import Kernel
    from .interpret import Interpreter


class Descriptors:
    """The parameters of one kernel that are used as descriptors."""

    def __init__(self, kernel: Kernel, parameters: Scope) -> None:
        self._kernel = kernel
        #: The parameters' values at the beginning of the kernel.
        self._parameters = dict(parameters)
        self._said: dict[str, tuple[Blocks, ...]] | None = None
        self.boxes: dict[str, Box] = {}

    def box(self, run: Interpreter, value: Value, rank: int, called: str, span: Span) -> Box:
        """The tensor behind a parameter, without offsets. Raises Decline TLX210 for what is no parameter."""
        name = self._name(value)
        if name is None:
            raise Decline("TLX210", span, name=called)
        if name not in self.boxes:
            self.boxes[name] = self._made(run, name, rank)
        return self.boxes[name]

    def _name(self, value: Value) -> str | None:
        for name, parameter in self._parameters.items():
            if value.poly is not None and value.poly == parameter.poly and value.scalar:
                symbol = next(iter(value.poly.symbols), None)
                return name if symbol is not None and symbol.launch and not symbol.constexpr else None
        return None

    def _made(self, run: Interpreter, name: str, rank: int) -> Box:
        lengths = self._lengths(run, name, rank)
        axes = []
        for length in lengths:
            # Where the length is written there is nothing that consumer groups could divide.
            axes.append(None if length == ONE else run.axes.create(length, None))
            run.axes.mark(axes[-1], "fixed")
        strides = [Poly.of(Symbol(f"{name}.strides[{i}]", launch=True)) for i in range(rank - 1)]
        shape = (Poly.of(Symbol(f"{name}.shape[{i}]", launch=True)) for i in range(rank))
        base = Poly.of(Symbol(name, launch=True))
        # A host's descriptor has contiguous rows. One that reads NaN outside is left to the original at launch.
        return Box(base, tuple(shape), (*strides, ONE), (), tuple(axes), descriptor=True)

    def _lengths(self, run: Interpreter, name: str, rank: int) -> tuple[Poly, ...]:
        if self._said is None:
            self._said = blocks_of(self._kernel)
        for blocks in self._said.get(name, ()):
            answers = [self._answer(flag) for flag, _ in blocks.conditions]
            if None in answers:
                asked = {
                    flag: None for (flag, _), answer in zip(blocks.conditions, answers, strict=True) if answer is None
                }
                run.events.undecided.update(asked)
                break
            known = tuple(map(self._length, blocks.lengths))
            holds = all(answer == wanted for answer, (_, wanted) in zip(answers, blocks.conditions, strict=True))
            if holds and len(known) == rank and None not in known:
                return tuple(length for length in known if length is not None)
        # What the blocks meet may tell.
        return tuple(Poly.of(Symbol(unsaid(name, axis), launch=True)) for axis in range(rank))

    def _answer(self, flag: str) -> bool | None:
        known = self._parameters[flag].literal
        return bool(known) if known is not MISSING else None

    def _length(self, text: str) -> Poly | None:
        if text.isdigit():
            return Poly.of(int(text))
        return self._parameters[text].poly if text in self._parameters else None


def unsaid(name: str, axis: int) -> str:
    """What a length is called that nobody says."""
    return f"{name}.block_shape[{axis}]"
