"""Names that a program binds in one of several forms when it is imported: by the chip at hand, by what Triton has.

Reading cannot tell which form a run takes, but the launcher can: it compares the fingerprint of the live kernel, and
that holds the text of every jit helper and the value of every constant. So a kernel may be converted with any form that
the fingerprint tells from all others; a run that takes another one launches the original.

The fingerprint does not see which function of Triton's a name is. One such function among jit helpers and constants
is told from them by being in no part of it; two are not told from each other, nor one from a value that is computed.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from ..model import Alias, Constant, Helper, Kernel, Meaning
from ..reach import reach
from .bindings import What

#: How many combinations of forms are tried for one kernel.
_MOST = 8


def choices(what: What) -> list[What]:
    """What a conditional expression chooses among, also within `tl.constexpr(…)`; anything else is its only choice."""
    match what:
        case ast.IfExp(body=body, orelse=orelse):
            return [*choices(body), *choices(orelse)]
        case ast.Call(func=func, args=[ast.IfExp() as inner], keywords=[]):
            found = [one for one in choices(inner) if isinstance(one, ast.expr)]
            return [ast.copy_location(ast.Call(func, [one], []), what) for one in found]
        case _:
            return [what]


def told_apart(found: Sequence[Meaning | None]) -> tuple[Meaning, ...]:
    """The forms of a name that a kernel can be converted with; None among what is found is a form without a meaning.

    Stand-ins for what is missing are no forms: no kernel that calls one compiles.
    """
    usable = [one for one in found if isinstance(one, Helper | Constant | Alias) and not _stands_in(one)]
    known = [one for one in found if not (isinstance(one, Helper) and _stands_in(one))]
    if len(usable) < len(known) or sum(isinstance(one, Alias) for one in usable) > 1:
        usable = [one for one in usable if not isinstance(one, Alias)]
    return tuple({_key(one): one for one in usable}.values())


def _key(meaning: Meaning) -> object:
    match meaning:
        case Constant(value=value):
            return repr(value)
        case Helper(node=node):
            return ast.unparse(node)
        case _:
            return meaning


def _stands_in(meaning: Meaning) -> bool:
    """A function that does nothing but fail or return nothing."""
    if not isinstance(meaning, Helper):
        return False

    def empty(statement: ast.stmt) -> bool:
        match statement:
            case ast.Raise() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Return(value=None | ast.Constant(value=None)):
                return True
        return False

    return all(map(empty, meaning.node.body))


def other_forms(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel with other forms of what it reads, nearest to the first ones first."""
    from .kernels import find_kernels
    from .module import parse_module

    known = {(f.path, f.name): f.count for use in reach(kernel) if (f := use.module.forms.get(use.name)) is not None}
    choices = itertools.product(*(range(count) for count in known.values()))
    for numbers in itertools.islice(choices, 1, _MOST):
        module = parse_module(kernel.module.source, dict(zip(known, numbers, strict=True)))
        yield from (found for found in find_kernels(module) if found.span == kernel.span)
