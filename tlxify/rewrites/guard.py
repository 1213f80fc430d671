"""The launch side of a conversion: the guard, the TMA boxes and the binding, as plain Python that anyone can read.

What: three functions as text: one checks a launch, one sizes the boxes, one binds both to the converted kernel.
Why: whether the fast kernel may run depends on strides, alignment and aliasing that only the launch knows.
Before: `matmul_kernel[grid](a, b, c, …)` runs the source.
After: the same call runs the converted kernel where `_matmul_kernel_guard` returns, the source where it raises.
When refused: at each launch that fails a check, by `tlx.Fallback` with a reason.
"""

from __future__ import annotations

import ast
import re

from ..plan import Copied, Described, Operands, Plan, View


def launch_side(plan: Plan, fingerprint: str) -> tuple[str, ...]:
    """The functions behind a converted kernel, as text: guard, boxes, programs of tiles of ours, specialize."""
    programs = (_programs(plan),) if plan.own is not None else ()
    return (_guard(plan), _boxes(plan), *programs, _specialize(plan, fingerprint))


def names(plan: Plan) -> tuple[str, str, str]:
    """What the three functions are called."""
    return names_beside(plan.converted)


def names_beside(converted: str) -> tuple[str, str, str]:
    """What the functions are called that belong to a converted kernel of that name."""
    stem = re.sub(r"_(ws|desc)$", "", converted.removeprefix("_"))
    return f"_{stem}_guard", f"_{stem}_boxes", f"specialize_{stem}"


def _guard(plan: Plan) -> str:
    guard = plan.guard
    variables = {_key(view): _key(view).replace("_desc", "").replace("_ring", "") for view in guard.views}
    needed = _parameters(plan)
    lines = [_definition(names(plan)[0], [*needed, "**_"])]
    what = "The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."
    lines.append(f'    """{what}"""')
    taken = set(needed)
    for descriptor, name in variables.items():
        variables[descriptor] = name if name not in taken else f"{name}_view"
    for view in guard.views:
        if view.copied is not None:
            lines += _rows(view, view.copied, variables[_key(view)])
            continue
        arguments = [
            f'"{view.parameter}"',
            view.parameter,
            f"shape={_tuple(view.shape)}",
            f"strides={_tuple(view.strides)}",
        ]
        lines.append(f"    {variables[view.descriptor]} = tlx.tma_view({', '.join(arguments)})")
        if view.flag is None:
            why = f"{view.parameter} is stored column by column"
            lines.append(f'    tlx.require(not {variables[view.descriptor]}.transposed, "stride", "{why}")')
    if guard.starts:
        lines.append("    # Along the contiguous axis the TMA starts at whole 16 bytes.")
    for starts in guard.starts:
        steps = _tuple(starts.steps)
        lines.append(f"    tlx.require_starts({variables[starts.descriptor]}, axis={starts.axis}, steps={steps})")
    lines += [line for group in guard.operands for line in _dtypes(group, variables)]
    read = [variables[_key(view)] for view in guard.views]
    read += [f'tlx.memory("{name}", {name})' for name in guard.scalars]
    reads = ", ".join(read) + ("," if len(read) == 1 else "")
    if guard.stored:
        why = "The producer reads ahead of the stores: what is written must not overlap what it reads."
        if plan.plain:
            why = "What goes through descriptors is not ordered with stores: it must not overlap what is written."
        lines.append(f"    # {why}")
    for stored in guard.stored:
        arguments = [
            f'"{stored.parameter}"',
            stored.parameter,
            _tuple(stored.shape),
            _tuple(stored.strides),
            f"reads=({reads})",
        ]
        lines.append(f"    tlx.require_disjoint({', '.join(arguments)})")
    entries = [f'"{_key(view)}": {variables[_key(view)]}' for view in guard.views]
    entries += [f'"{view.flag}": {variables[view.descriptor]}.transposed' for view in guard.views if view.flag]
    lines.append(f"    return {{{', '.join(entries)}}}")
    return "\n".join(lines)


def _key(view: View) -> str:
    """What the launch knows a view by: the descriptor's name, or the buffer's where there is none."""
    return view.descriptor if view.copied is None else view.copied.name


def _rows(view: View, copied: Copied, variable: str) -> list[str]:
    """Tiles that threads copy: their rows may lie anywhere."""
    steps = _tuple(tuple(step[0] if len(step) == 1 else _tuple(step) for step in copied.steps))
    arguments = f'"{view.parameter}", {view.parameter}, unit={copied.unit}, steps={steps}'
    return [f"    {variable} = tlx.copied_rows({arguments})"]


def _dtypes(group: Operands, variables: dict[str, str]) -> list[str]:
    """One dtype for the operands of a dot; those of 8 bits lie along the contracted axis."""
    pointers = "{" + ", ".join(f'"{name}": {name}' for name in group.parameters) + "}"
    dtypes = ", ".join(map(_quoted, group.dtypes)) + ("," if len(group.dtypes) == 1 else "")
    same = "" if group.same else ", same=False"
    lines = [f"    tlx.require_dtypes({pointers}, ({dtypes}){same})"]
    for descriptor, swapped in group.along_depth:
        lines.append(f"    tlx.require_along_depth({variables[descriptor]}, transposed={swapped})")
    return lines


def _boxes(plan: Plan) -> str:
    tiles = [*(b.tile for _, b in plan.buffers()), *(one.tile for one in plan.described)]
    computed = plan.transform
    tiles += [computed.tile] if computed is not None else []
    sides = dict.fromkeys(name for tile in tiles for side in tile for name in _identifiers(side))
    asked = dict.fromkeys(name for claim in plan.guard.claims for name in _identifiers(claim))
    blocks = dict.fromkeys(word for name, block in plan.guard.blocks for word in (name, *_words(block)))
    parameters = [*{**blocks, **sides, **asked}, *(["CONSUMERS"] if plan.split else []), "**_"]
    lines = [_definition(names(plan)[1], parameters)]
    what = "One load's TMA box" if plan.plain else "One slot's TMA box"
    lines.append(f'    """{what} per descriptor, in elements, axes in the order of the guard\'s views."""')
    if plan.guard.claims:
        # The guard knows what the call says; tuners and heuristics have their say later, config by config.
        lines.append("    # What the converted kernel relies on: any other config is left to the original.")
    lines += [f'    tlx.require({claim}, "claim", {_quoted(f"not so: {claim}")})' for claim in plan.guard.claims]
    if plan.guard.blocks:
        lines.append("    # What one load or store of a descriptor of the caller's is taken to move.")
    for name, block in plan.guard.blocks:
        lines.append(f'    tlx.require_block("{name}", {name}, {_tuple(block)})')
    entries = list(dict.fromkeys(_described_box(one) for one in plan.described))
    ranks = {fill.buffer: len(fill.coordinates) for _, _, fill in plan.fills()}
    for ring, buffer in plan.buffers():
        if buffer.view.copied is not None:
            stays = ", stays=True" if ring.depth == "1" else ""
            entries.append(f'"{buffer.name}": tlx.Box(({", ".join(buffer.tile)}), copied=True{stays})')
            continue
        box = ["1"] * (ranks[buffer.name] - 2) + list(buffer.tile)
        count = ""
        if buffer.split is not None and plan.split is not None:
            box[len(box) - 2 + buffer.split] = f"{buffer.tile[buffer.split]} // CONSUMERS"
            count = ", count=CONSUMERS"
        stays = ", stays=True" if ring.depth == "1" else ""
        entries.append(f'"{buffer.view.descriptor}": tlx.Box(({", ".join(box)}){count}{stays})')
    if computed is not None:
        # No box: shared memory that the launch must have for what a role writes.
        entries.append(f'"{computed.name}": tlx.Box(({", ".join(computed.tile)}), like="{_key(computed.like)}")')
    lines.append(f"    return {{{', '.join(entries)}}}")
    return "\n".join(lines)


def _described_box(one: Described) -> str:
    sides = ["1"] * (len(one.coordinates) - 2) + list(one.tile)
    return f'"{one.view.descriptor}": tlx.Box(({", ".join(sides)}))'


def _programs(plan: Plan) -> str:
    counts = plan.own.programs if plan.own is not None else ()
    written = [ast.unparse(ast.parse(text, mode="eval")) if text is not None else None for text in counts]
    sizes = set(_words(tuple(text for text in counts if text is not None)))
    lines = [_definition(_programs_name(plan), [*(name for name in plan.parameters if name in sizes), "**_"])]
    what = "How many programs the grid must have along each axis, under tiles that the source does not list."
    called = tuple(re.sub(r"\bcdiv\(", "triton.cdiv(", text) if text is not None else None for text in written)
    return "\n".join([*lines, f'    """{what}"""', f"    return {_tuple(called)}"])


def _programs_name(plan: Plan) -> str:
    return names(plan)[0].removesuffix("_guard") + "_programs"


def _own(plan: Plan) -> str:
    """The configs with tiles of ours, a line each."""
    lines = ["configs=["]
    for config in plan.own.configs if plan.own is not None else ():
        entries = [*config.values, ("num_warps", config.num_warps), ("num_stages", config.num_stages)]
        values = [(name, _quoted(v) if isinstance(v, str) else repr(v)) for name, v in entries]
        lines.append("    {" + ", ".join(f"{_quoted(name)}: {value}" for name, value in values) + "},")
    return "\n".join([*lines, "]"])


def _specialize(plan: Plan, fingerprint: str) -> str:
    guard, boxes, specialize = names(plan)
    schedule = ["plain=True"] if plan.plain else []
    if plan.persistence is not None:
        schedule += ["persistent=True", f"grid_rank={plan.persistence.rank}"]
    if plan.split is not None:
        schedule.append(f'split="{plan.split.length}"')
    if plan.alternation is not None:
        schedule.append("alternating=True")
    if plan.lean:
        schedule.append("lean=True")
    if plan.products:
        schedule.append(f"output={_names(plan.products[0])}")
    if len(plan.products) > 1:
        schedule.append(f"products=({', '.join(map(_names, plan.products))})")
    if plan.crowded:
        schedule.append("crowded=True")
    made = f"schedule=tlx.Schedule({', '.join(schedule)})"
    if plan.own is not None:
        inner = [f"{text}," for text in (*schedule, _own(plan), f"programs={_programs_name(plan)}")]
        comment = "# Tiles that the source does not list, tried where its grid follows them."
        inner.insert(len(schedule), comment)
        made = "\n".join(["schedule=tlx.Schedule(", *inner, ")"])
    arguments = [
        "original",
        plan.converted,
        f"guard={guard}",
        f"boxes={boxes}",
        made,
        f'fingerprint="{fingerprint}"',
    ]
    lines = [
        f"def {specialize}(original):",
        f'    """`original`, running {plan.converted} wherever the guard allows it."""',
        "    return tlx.specialized(",
    ]
    lines += [f"        {argument}," for argument in arguments]
    return "\n".join([*lines, "    )"])


def _names(names: tuple[str, ...]) -> str:
    """A tuple of names, as strings."""
    return f"({', '.join(map(_quoted, names))})"


def _quoted(name: str) -> str:
    """A string literal as black writes it."""
    return f'"{name}"'


def _parameters(plan: Plan) -> list[str]:
    """Parameters of the source that the guard reads, in a stable order: pointers, then what shapes and strides name."""
    guard = plan.guard
    pointers = dict.fromkeys(
        [*(v.parameter for v in guard.views), *(s.parameter for s in guard.stored), *guard.scalars]
    )
    shapes = [*(v.shape for v in guard.views), *(s.shape for s in guard.stored)]
    strides = [*(v.strides for v in guard.views), *(s.strides for s in guard.stored)]
    starts = [starts.steps for starts in guard.starts]
    starts += [(v.copied.unit, *(f for step in v.copied.steps for f in step)) for v in guard.views if v.copied]
    texts = [text for texts in (*shapes, *strides, *starts) for text in texts if text]
    words = {word for text in texts for word in _identifiers(text)}
    return [name for name in plan.parameters if name in words or name in pointers]


def _identifiers(text: str) -> list[str]:
    return [
        n.id
        for n in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(n, ast.Name) and n.id not in ("triton", "min", "max")
    ]


def _words(texts: tuple[str, ...]) -> list[str]:
    return [word for text in texts for word in _identifiers(text)]


def _tuple(items: tuple[str | None, ...]) -> str:
    inner = ", ".join("None" if item is None else item for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _definition(name: str, parameters: list[str]) -> str:
    return f"def {name}({', '.join(parameters)}):"
