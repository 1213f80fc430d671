"""The contract as the lines of `[tool.tlxify]` that say the same: `a_ptr = "fp16[M, K] strides(stride_am, 1), in"`.

What is printed can be pasted into pyproject.toml and edited there; `tlxify.corrections` reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..contract import ConstexprSpec, Contract, LaunchConfig, ScalarSpec, TensorSpec


def contract_text(contract: Contract, file: str) -> str:
    """What a valid launch is: parameters in the kernel's order, then what is no parameter's.

    Args:
        contract: of a kernel.
        file: the kernel's file as the project names it, counted from the folder of its pyproject.toml.
    """
    heading = f"[tool.tlxify.contracts.{json.dumps(f'{file}::{contract.kernel}', ensure_ascii=False)}]"
    return "\n".join([heading, *_lines(contract)]) + "\n"


def _lines(contract: Contract) -> Iterator[str]:
    tensors = {spec.name: spec for spec in contract.tensors}
    scalars = {spec.name: spec for spec in contract.scalars}
    constexprs = {spec.name: spec for spec in contract.constexprs}
    for name in contract.parameters:
        if name in tensors:
            yield _line(name, _tensor(tensors[name]))
        elif name in contract.absent:
            yield _line(name, "None")
        elif name in scalars:
            yield _line(name, _number(scalars[name], contract))
        elif name in constexprs:
            yield _line(name, _number(constexprs[name], contract))
    yield _line("grid", f"({', '.join(contract.grid)}{',' if len(contract.grid) == 1 else ''})")
    if contract.free_sizes:
        yield _list("free", [f"{name} {_limits(name, contract)}".strip() for name in contract.free_sizes])
    trips = "unknown" if contract.contracted is None else "cdiv({}, {})".format(*contract.contracted)
    yield _line("trips", trips if contract.empties else f"{trips} unless 0")
    if contract.tiled:
        yield _list("tiles", [f"{size} by {tile}" for size, tile in contract.tiled])
    said = {*scalars, *constexprs, *contract.free_sizes}
    if unsaid := [f"{size} of {step}" for size, step in contract.multiples if size not in said]:
        yield _list("multiples", unsaid)
    if not contract.configs_known:
        yield "# these configs are ours: the source's are not known"
    yield _list("configs", list(map(_config, contract.configs)))


def _line(name: str, text: str) -> str:
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    return f"{key} = {json.dumps(text, ensure_ascii=False)}"


def _list(name: str, texts: list[str]) -> str:
    quoted = [json.dumps(text, ensure_ascii=False) for text in texts]
    if len(quoted) == 1 or sum(map(len, quoted)) < 90:
        return f"{name} = [{', '.join(quoted)}]"
    return "\n".join([f"{name} = [", *(f"    {text}," for text in quoted), "]"])


def _tensor(spec: TensorSpec) -> str:
    use = "in and out" if spec.reads and spec.writes else "out" if spec.writes else "in"
    text = f"{use} {'|'.join(spec.dtypes)}[{', '.join(spec.shape)}] strides({', '.join(spec.strides)})"
    if spec.block:
        text += f" block({', '.join(spec.block)})"
    if spec.dtype_group != spec.name:
        text += f" dtype_of({spec.dtype_group})"
    if spec.values:
        text += f" {'values' if spec.drawn == 'chosen' else spec.drawn}({', '.join(spec.values)})"
    if spec.deep is not None:
        text += f" deep({spec.deep})"
    return text + (f" layouts({', '.join(spec.layouts)})" if spec.layouts else "")


def _number(spec: ScalarSpec | ConstexprSpec, contract: Contract) -> str:
    computed = dict(contract.computed)
    if isinstance(spec, ConstexprSpec) and spec.kind == "dtype":
        return f"dtype_of({spec.dtype_of})"
    if spec.name in computed:  # no other value of it is ever tried
        return f"{spec.kind} {_limits(spec.name, contract)} = {computed[spec.name]}".replace("  ", " ")
    # What every config sets is nothing else in any launch.
    settled = bool(contract.configs) and all(spec.name in dict(config.values) for config in contract.configs)
    choices = f"in {{{', '.join(map(repr, spec.choices))}}}" if spec.choices and not settled else ""
    tells = ""
    if isinstance(spec, ConstexprSpec) and spec.says is not None:
        tells = f"dtype_of({spec.dtype_of}) says({spec.says})"
    unread = "unread" if spec.name in contract.unread else ""
    return " ".join(filter(None, (spec.kind, choices, tells, _limits(spec.name, contract), unread)))


def _limits(name: str, contract: Contract) -> str:
    texts = [f"multiple_of({step})" for size, step in contract.multiples if size == name]
    texts += [f"whole({step})" for size, step in contract.whole if size == name]
    texts += [f"covered_by({tile})" for size, tile in contract.covered if size == name]
    texts += ["aligned"] if name in contract.aligned else []
    for size, low, high in contract.bounds:
        texts += [f"{low}..{'' if high is None else high}"] if size == name else []
    return " ".join(texts)


def _config(config: LaunchConfig) -> str:
    values = [*config.values, ("num_warps", config.num_warps), ("num_stages", config.num_stages)]
    return ", ".join(f"{name}={value!r}" for name, value in values)
