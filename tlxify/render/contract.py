"""The contract as text, in the shorthand that jaxtyping made common: `a_ptr: fp16[M, K] strides (stride_am, 1)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..contract import ConstexprSpec, Contract, ScalarSpec, TensorSpec


def contract_text(contract: Contract) -> str:
    """What a valid launch is: parameters in the kernel's order, then the grid, the configs and what ties sizes."""
    return "\n".join([f"contract of {contract.kernel}", *(f"    {line}" for line in _lines(contract))]) + "\n"


def _lines(contract: Contract) -> Iterator[str]:
    tensors = {spec.name: spec for spec in contract.tensors}
    scalars = {spec.name: spec for spec in contract.scalars}
    constexprs = {spec.name: spec for spec in contract.constexprs}
    computed = dict(contract.computed)
    groups = [spec.dtype_group for spec in contract.tensors]
    for name in contract.parameters:
        if name in tensors:
            yield f"{name}: {_tensor(tensors[name], shared=groups.count(tensors[name].dtype_group) > 1)}"
        elif name in contract.absent:
            yield f"{name}: None"
        elif name in computed:
            yield f"{name} = {computed[name]}"
        elif name in scalars:
            yield f"{name}: {_scalar(scalars[name])}"
        elif name in constexprs:
            yield f"{name}: {_constexpr(constexprs[name])}"
    yield f"grid: ({', '.join(contract.grid)}{',' if len(contract.grid) == 1 else ''})"
    if contract.free_sizes:
        yield f"sizes of no parameter: {', '.join(contract.free_sizes)}"
    if contract.contracted is not None:
        size, tile = contract.contracted
        yield f"trips of the dot loop: cdiv({size}, {tile})"
    if contract.tiled:
        yield f"tiles: {', '.join(f'{size} by {tile}' for size, tile in contract.tiled)}"
    yield from (f"{size} is a multiple of {tile}" for size, tile in contract.multiples)
    yield from (f"{size} is a multiple of 8 where the kernel is specialized" for size in contract.aligned)
    for config in contract.configs:
        values = ", ".join(f"{name} = {value}" for name, value in config.values)
        origin = "config" if contract.configs_known else "config of ours"
        yield f"{origin}: {values or 'no tiles'}; {config.num_warps} warps, {config.num_stages} stages"


def _tensor(spec: TensorSpec, *, shared: bool) -> str:
    use = "in and out" if spec.reads and spec.writes else "out" if spec.writes else "in"
    text = f"{'|'.join(spec.dtypes)}[{', '.join(spec.shape)}] strides ({', '.join(spec.strides)}), {use}"
    if spec.rising:
        text += f", rising from {spec.values[0]} to {spec.values[-1]}"
    elif spec.values:
        text += f", elements from {{{', '.join(spec.values)}}}"
    return text + (f", dtype of {spec.dtype_group}" if shared and spec.dtype_group != spec.name else "")


def _scalar(spec: ScalarSpec) -> str:
    choices = f" in {{{', '.join(map(str, spec.choices))}}}" if spec.choices else ""
    return f"{'constexpr ' if spec.constexpr else ''}{spec.kind}{choices}"


def _constexpr(spec: ConstexprSpec) -> str:
    if spec.kind == "dtype":
        return f"constexpr dtype of {spec.dtype_of}"
    return f"constexpr {spec.kind} in {{{', '.join(map(repr, spec.choices))}}}"
