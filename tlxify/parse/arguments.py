"""For which parameter each argument of a launch is that has no name: also behind a star, `kernel[grid](*given, M)`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ..model import Kernel
from .names import AUTOTUNE, HEURISTICS


def placed(kernel: Kernel, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments by position, with their parameters.

    How many arguments stand behind a star is not known. Those after the last one go before the first parameter that is
    passed by its name or set by a tuner, where all parameters from there on are.
    """
    params = kernel.params
    yield from zip((p.name for p in params), itertools.takewhile(_single, call.args), strict=False)
    named = {keyword.arg for keyword in call.keywords}
    tuned = any(decorator.name in (AUTOTUNE, HEURISTICS) for decorator in kernel.decorators)
    later = [param.name in named or (tuned and param.constexpr) for param in params]
    end = later.index(True) if True in later else len(params)
    known = None not in named and all(later[end:]) and all(param.default is None for param in params[:end])
    if known and len(call.args) <= end and not all(map(_single, call.args)):
        last = itertools.takewhile(_single, reversed(call.args))
        yield from zip(reversed([param.name for param in params[:end]]), last, strict=False)


def _single(argument: ast.expr) -> bool:
    return not isinstance(argument, ast.Starred)
