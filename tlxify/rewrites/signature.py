"""The converted kernel's parameters: the user's, in their order and layout.

What: descriptors in place of operand pointers, no parameter that no role reads, new ones among the constexprs.
Why: who knows the source's signature finds the way in this one, comments between parameters included.
Before: `(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, …, BLOCK_M: tl.constexpr)`.
After: `(a_desc, b_desc, c_ptr, M, N, K, stride_cm, …, BLOCK_M: tl.constexpr, GRID_0, A_TRANSPOSED: tl.constexpr, …)`.
When refused: never; new names were chosen where none was taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .comments import comments_in


def signature(
    source: cst.Parameters,
    keep: frozenset[str],
    descriptors: dict[str, list[str]],
    scalars: Sequence[str],
    constexprs: Sequence[str],
    tl: str,
) -> cst.Parameters:
    """The parameters. `descriptors` maps pointer parameters to the descriptors that take their place."""
    everyone = [*source.posonly_params, *source.params, *source.kwonly_params]
    kept: list[cst.Param] = []
    for param in everyone:
        name = param.name.value
        replacements = descriptors.get(name, [])
        names = list(dict.fromkeys([*replacements, *([name] if name in keep else [])]))
        for position, new in enumerate(names):
            plain = param if new == name else cst.Param(name=cst.Name(new), comma=param.comma)
            if position < len(names) - 1:
                plain = plain.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            kept.append(plain)
        if not names and kept:
            kept[-1] = kept[-1].with_changes(comma=_inherit(kept[-1].comma, param.comma))
    # A plain parameter may not follow one with a default: ours come first among the constexprs without one.
    added = [cst.Param(name=cst.Name(name)) for name in scalars]
    added += [
        cst.Param(name=cst.Name(name), annotation=cst.Annotation(cst.parse_expression(f"{tl}.constexpr")))
        for name in constexprs
    ]
    defaults = next((i for i, param in enumerate(kept) if param.default is not None), len(kept))
    kept[defaults:defaults] = added
    return cst.Parameters(params=_laid_out(kept, set(map(id, added)), multi_line=_is_multi_line(everyone)))


def _inherit(
    mine: cst.Comma | cst.MaybeSentinel, dropped: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """Keeps the line break and the comments behind a parameter that goes away."""
    if not isinstance(dropped, cst.Comma) or not isinstance(dropped.whitespace_after, cst.ParenthesizedWhitespace):
        return mine
    if not isinstance(mine, cst.Comma) or not isinstance(mine.whitespace_after, cst.ParenthesizedWhitespace):
        return dropped
    if not comments_in(dropped):
        return mine
    said = dropped.whitespace_after.first_line.comment
    line = cst.EmptyLine(indent=False, whitespace=cst.SimpleWhitespace("    "), comment=said)
    lines = [*([line] if said is not None else []), *dropped.whitespace_after.empty_lines]
    merged = mine.whitespace_after.with_changes(empty_lines=[*mine.whitespace_after.empty_lines, *lines])
    return mine.with_changes(whitespace_after=merged)


def _is_multi_line(params: Sequence[cst.Param]) -> bool:
    return any(
        isinstance(p.comma, cst.Comma) and isinstance(p.comma.whitespace_after, cst.ParenthesizedWhitespace)
        for p in params[:-1]
    )


def _laid_out(params: list[cst.Param], added: set[int], *, multi_line: bool) -> list[cst.Param]:
    """One added parameter a line. A signature on one line becomes one parameter a line."""
    result = []
    for position, param in enumerate(params):
        last = position == len(params) - 1
        following_is_new = not last and id(params[position + 1]) in added
        indent = "" if last else "    "
        comma = param.comma
        if isinstance(comma, cst.Comma) and comments_in(comma):
            comma = cst.Comma(
                comma.whitespace_before, comma.whitespace_after.with_changes(last_line=cst.SimpleWhitespace(indent))
            )
        elif last or id(param) in added or following_is_new or not multi_line:
            comma = cst.Comma(
                whitespace_after=cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(indent))
            )
        result.append(param.with_changes(comma=comma))
    return result
