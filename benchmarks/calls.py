"""Public functions of packages, called on random data and compared with torch; one process per call, see packages.py.

    python -m benchmarks.calls NAME [--host]

Results and, where the function is differentiable, gradients: what torch computes in float64 from the same inputs is
the truth, and what it computes in their own element type says how much of an error is usual. Ends in a line of JSON.
With `--host` nothing is computed: kernels are compiled, and the launcher decides as on a GPU (see
tests/tlx/launch/device.py).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

Tensors = tuple[Any, ...]

#: Error that rounding may explain, as a share of the largest element: a few roundings of a result. A dot in fp32 may be
#: one of TF32, which keeps ten bits.
FLOORS = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10, torch.float32: 2.0**-9}
#: How many times torch's own error in the same element type is allowed.
TIMES = 3.0


@dataclass(frozen=True)
class Launch:
    """One call: what goes in, what is called, and the same in torch."""

    name: str
    inputs: Tensors
    run: Callable[..., Any]
    reference: Callable[..., Any]
    #: Positions of the inputs whose gradients are compared.
    gradients: tuple[int, ...] = ()


@dataclass
class Compared:
    """What one call came to."""

    name: str
    right: bool
    #: By result, such as `out 0` and `gradient 1`: error, what is allowed, and the largest element.
    errors: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    #: Of the bytes of all results: equal for the original and the specialized kernels where they agree in every bit.
    digest: str = ""
    told: str = ""


CALLS: dict[str, Callable[[str], Iterator[Launch]]] = {}


def call(name: str) -> Callable[[Callable[[str], Iterator[Launch]]], Callable[[str], Iterator[Launch]]]:
    """Registers a generator of launches under `DISTRIBUTION:WHAT`."""

    def register(function: Callable[[str], Iterator[Launch]]) -> Callable[[str], Iterator[Launch]]:
        CALLS[name] = function
        return function

    return register


def drawn(device: str, dtype: torch.dtype, *shape: int, scale: float = 1.0) -> Any:
    """Independent normal numbers."""
    return (torch.randn(shape, device=device) * scale).to(dtype)


def tuned_shortly(module: Any) -> None:
    """Leaves the first config and the last to every tuner of a module: compiling all takes longer than all else."""
    for value in vars(module).values():
        if hasattr(value, "configs") and hasattr(value, "arg_names"):
            value.configs = [value.configs[0], value.configs[-1]]


def as_tuple(found: Any) -> Tensors:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def outcome(function: Callable[..., Any], launch: Launch, dtype: torch.dtype | None = None) -> Tensors:
    """Results of a function and the gradients of their weighted sum; `dtype`: of all floating inputs instead."""
    inputs = []
    for position, value in enumerate(launch.inputs):
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            value = value.detach()
            if dtype is not None:
                value = value.to(dtype)
            value = value.requires_grad_(position in launch.gradients)
        inputs.append(value)
    results = as_tuple(function(*inputs))
    if not launch.gradients:
        return tuple(result.detach() for result in results)
    generator = torch.Generator(device="cpu").manual_seed(7)
    weights = [torch.randn(result.shape, generator=generator).to(result.device, result.dtype) for result in results]
    torch.autograd.backward(results, weights)
    return tuple(result.detach() for result in results) + tuple(inputs[p].grad for p in launch.gradients)


def compared(launch: Launch) -> Compared:
    """Runs one launch and both references."""
    found = outcome(launch.run, launch)
    exact = outcome(launch.reference, launch, torch.float64)
    usual = outcome(launch.reference, launch)
    outputs = len(found) - len(launch.gradients)
    names = [f"out {number}" for number in range(outputs)] + [f"gradient {number}" for number in launch.gradients]
    told, digest = Compared(launch.name, True), hashlib.sha256()
    for name, got, right, own in zip(names, found, exact, usual, strict=True):
        largest = right.abs().max().item()
        allowed = max(TIMES * (own.double() - right).abs().max().item(), FLOORS[got.dtype] * largest)
        error = (got.double() - right).abs().max().item()
        told.errors[name] = (error, allowed, largest)
        # NaN is greater than nothing: it must not pass.
        told.right &= error <= allowed and math.isfinite(largest) and largest > 0.0 and got.shape == right.shape
        digest.update(got.contiguous().view(torch.uint8).cpu().numpy().tobytes())
    told.digest = digest.hexdigest()[:16]
    return told


# ---- grouped-mm-bf16 ------------------------------------------------------------------------------------------------


def ends_of(device: str, *sizes: int) -> Any:
    return torch.tensor(sizes, device=device).cumsum(0).to(torch.int32)


def pieces(ends: Any) -> Iterator[slice]:
    begin = 0
    for end in ends.tolist():
        yield slice(begin, end)
        begin = end


@call("grouped-mm-bf16:batched")
def grouped_batched(device: str) -> Iterator[Launch]:
    from grouped_mm_bf16 import grouped_mm

    def product(a: Any, b: Any) -> Any:
        return torch.bmm(a, b)

    for dtype in (torch.bfloat16, torch.float16):
        for g, m, k, n in ((4, 256, 192, 320), (2, 130, 200, 72), (3, 64, 32, 64)):
            a, b = drawn(device, dtype, g, m, k), drawn(device, dtype, g, k, n)
            yield Launch(f"{g}x{m}x{k}x{n} {dtype}", (a, b), grouped_mm, product, (0, 1))
    a, b = drawn(device, torch.bfloat16, 2, 192, 128), drawn(device, torch.bfloat16, 2, 256, 128)
    yield Launch("second operand transposed", (a, b.transpose(1, 2)), grouped_mm, product, (0, 1))
    a, b = drawn(device, torch.bfloat16, 3, 65, 100), drawn(device, torch.bfloat16, 3, 100, 50)
    yield Launch("rows of no multiple of 16 bytes", (a, b), grouped_mm, product, (0, 1))


@call("grouped-mm-bf16:rows in groups")
def grouped_rows(device: str) -> Iterator[Launch]:
    from grouped_mm_bf16 import grouped_mm

    def product(a: Any, b: Any, ends: Any) -> Any:
        return torch.cat([a[rows] @ b[group] for group, rows in enumerate(pieces(ends))])

    for sizes, k, n in (((100, 28, 200, 56), 96, 64), ((130, 0, 94, 96), 64, 192), ((64, 200, 56), 256, 128)):
        ends = ends_of(device, *sizes)
        a = drawn(device, torch.bfloat16, sum(sizes), k)
        b = drawn(device, torch.bfloat16, len(sizes), k, n)
        yield Launch(f"{sizes} rows, {k}x{n}", (a, b, ends), grouped_mm, product, (0, 1))


@call("grouped-mm-bf16:depth and columns in groups")
def grouped_depth(device: str) -> Iterator[Launch]:
    from grouped_mm_bf16 import grouped_mm

    def by_depth(a: Any, b: Any, ends: Any) -> Any:
        return torch.stack([a[:, part] @ b[part] for part in pieces(ends)])

    def by_columns(a: Any, b: Any, ends: Any) -> Any:
        return torch.cat([a[group] @ b[:, part] for group, part in enumerate(pieces(ends))], 1)

    ends = ends_of(device, 96, 40, 120)
    a, b = drawn(device, torch.bfloat16, 128, 256), drawn(device, torch.bfloat16, 256, 192)
    yield Launch("depth", (a, b, ends), grouped_mm, by_depth, (0, 1))
    a, b = drawn(device, torch.bfloat16, 3, 128, 64), drawn(device, torch.bfloat16, 64, 256)
    yield Launch("columns", (a, b, ends), grouped_mm, by_columns, (0, 1))


# ---- moe-ops --------------------------------------------------------------------------------------------------------


def experts(a: Any, b: Any, bounds: Any, transposed: bool) -> Any:
    parts = list(pieces(bounds[1:]))
    return torch.cat([a[rows] @ (b[e].T if transposed else b[e]) for e, rows in enumerate(parts)])


def bounds_of(device: str, *sizes: int) -> Any:
    ends = ends_of(device, *sizes)
    return torch.cat([torch.zeros(1, device=device, dtype=torch.int32), ends])


@call("moe-ops:grouped_gemm of plain pointers")
def moe_pointers(device: str) -> Iterator[Launch]:
    from moe_ops import grouped_gemm_ops
    from moe_ops.grouped_gemm_ops import grouped_gemm

    tuned_shortly(grouped_gemm_ops)
    bounds = bounds_of(device, 300, 0, 130, 82)
    a, b = drawn(device, torch.bfloat16, 512, 256), drawn(device, torch.bfloat16, 4, 128, 256)
    yield Launch("weights transposed", (a, b, bounds, True), grouped_gemm, experts, (0, 1))


@call("moe-ops:grouped_gemm of plain pointers, weights as they are")
def moe_plain(device: str) -> Iterator[Launch]:
    from moe_ops import grouped_gemm_ops
    from moe_ops.grouped_gemm_ops import grouped_gemm

    tuned_shortly(grouped_gemm_ops)
    bounds = bounds_of(device, 200, 56, 0, 256)
    a, b = drawn(device, torch.float16, 512, 128), drawn(device, torch.float16, 4, 128, 192)
    yield Launch("weights as they are", (a, b, bounds, False), grouped_gemm, experts)


@call("moe-ops:grouped_gemm")
def moe_default(device: str) -> Iterator[Launch]:
    from moe_ops import grouped_gemm, grouped_gemm_ops_sm90

    tuned_shortly(grouped_gemm_ops_sm90)
    bounds = bounds_of(device, 256, 128, 128)
    a, b = drawn(device, torch.bfloat16, 512, 128), drawn(device, torch.bfloat16, 3, 128, 128)
    yield Launch("three experts", (a, b, bounds, True), grouped_gemm, experts)


# ---- liger-kernel ---------------------------------------------------------------------------------------------------


@call("liger-kernel:neighborhood attention")
def neighborhood(device: str) -> Iterator[Launch]:
    from liger_kernel.ops.fused_neighborhood_attention import LigerFusedNeighborhoodAttentionFunction as Function

    def attention(query: Any, key: Any, value: Any, window: int, dilation: int) -> Any:
        length = query.shape[2]
        places = torch.arange(length, device=query.device)
        apart = places[None, :] - places[:, None]
        near = (apart.abs() <= window // 2 * dilation) & (apart % dilation == 0)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return torch.softmax(scores.masked_fill(~near, -math.inf), -1) @ value

    for dtype, shape, window, dilation in (
        (torch.bfloat16, (2, 4, 512, 64), 7, 1),
        (torch.float16, (1, 2, 200, 128), 33, 2),
        (torch.bfloat16, (1, 2, 136, 40), 9, 1),
    ):
        query, key, value = (drawn(device, dtype, *shape) for _ in range(3))
        inputs = (query, key, value, window, dilation)
        yield Launch(
            f"{shape}, window {window}, dilation {dilation}, {dtype}", inputs, Function.apply, attention, (0, 1, 2)
        )


@call("liger-kernel:hyper-connections")
def hyper(device: str) -> Iterator[Launch]:
    from liger_kernel.ops.mhc import mhc_mm_norm_fwd

    def mixed(x: Any, phi: Any) -> Any:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        invr = torch.rsqrt(x.to(wide).square().mean(1) + 1e-6)
        return (x.to(wide) @ phi.to(wide)) * invr[:, None], invr

    def of_rows(rows: int) -> Callable[..., Any]:
        return lambda x, phi: mhc_mm_norm_fwd(x, phi, 1e-6, block_n=rows, block_k=128)

    for dtype, (n, k, m), rows in (
        (torch.bfloat16, (512, 1024, 32), 64),
        (torch.float16, (200, 512, 24), 64),
        (torch.bfloat16, (100, 512, 24), 32),
    ):
        x, phi = drawn(device, dtype, n, k), drawn(device, dtype, k, m)
        yield Launch(f"{n}x{k}x{m} {dtype}, tiles of {rows} rows", (x, phi), of_rows(rows), mixed)


@call("liger-kernel:mlp")
def mlp(device: str) -> Iterator[Launch]:
    from liger_kernel.ops import mlp as module
    from liger_kernel.ops.mlp import LigerMLPFunction

    tuned_shortly(module)

    def reference(x: Any, gate: Any, up: Any, down: Any) -> Any:
        return (torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down.T

    dim, hidden = 256, 512
    x = drawn(device, torch.bfloat16, 2, 256, dim)
    gate, up, down = (
        drawn(device, torch.bfloat16, *s, scale=0.1) for s in ((hidden, dim), (hidden, dim), (dim, hidden))
    )
    yield Launch("2x256 tokens, inference", (x, gate, up, down), LigerMLPFunction.apply, reference)
    yield Launch("2x256 tokens", (x, gate, up, down), LigerMLPFunction.apply, reference, (0, 1, 2, 3))


@call("liger-kernel:mixture of experts")
def mixture(device: str) -> Iterator[Launch]:
    from liger_kernel.ops.fused_moe import LigerFusedMoEFunction

    def reference(x: Any, weights: Any, down: Any, chosen: Any, shares: Any) -> Any:
        out = torch.zeros_like(x)
        inner = weights.shape[1] // 2
        for slot in range(chosen.shape[1]):
            for expert in range(weights.shape[0]):
                rows = (chosen[:, slot] == expert).nonzero()[:, 0]
                both = x[rows] @ weights[expert].T
                active = torch.nn.functional.silu(both[:, :inner]) * both[:, inner:]
                out = out.index_add(0, rows, (active @ down[expert].T) * shares[rows, slot, None].to(x.dtype))
        return out

    tokens, width, inner, count = 256, 128, 128, 4
    x = drawn(device, torch.bfloat16, tokens, width)
    weights = drawn(device, torch.bfloat16, count, 2 * inner, width, scale=0.1)
    down = drawn(device, torch.bfloat16, count, width, inner, scale=0.1)
    chosen = torch.stack([torch.randperm(count, device=device)[:2] for _ in range(tokens)]).to(torch.int32)
    shares = torch.softmax(torch.randn(tokens, 2, device=device), -1)
    inputs = (x, weights, down, chosen, shares)
    yield Launch("256 tokens, two of four experts", inputs, LigerFusedMoEFunction.apply, reference, (0, 1, 2))


# ---- one process ----------------------------------------------------------------------------------------------------


def on_host() -> None:
    """Make launches decide and compile as on a Hopper GPU, and compute nothing."""
    import types
    import unittest.mock

    from tests.tlx.launch.device import Device, install

    idle = Device()
    idle.launch = lambda *args: None  # type: ignore[method-assign]
    idle.utils.fill_tma_descriptor = lambda *what: None  # type: ignore[method-assign]
    install(setattr, idle)
    for place, name, value in (
        (torch.Tensor, "is_cuda", True),
        (torch.cuda, "get_device_capability", lambda *_: (9, 0)),
        (torch.cuda, "get_device_properties", lambda *_: types.SimpleNamespace(multi_processor_count=132)),
    ):
        unittest.mock.patch.object(place, name, value).start()


def main() -> int:
    """Runs one call of the list; the exit status is 1 if a launch is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CALLS)
    parser.add_argument("--host", action="store_true", help="decide and compile without a GPU; compare nothing")
    options = parser.parse_args()
    import tlx

    if options.host:
        on_host()
    torch.manual_seed(0)
    rows = []
    launches = CALLS[options.name]("cpu" if options.host else "cuda")
    for launch in launches:
        if options.host:
            outcome(launch.run, launch)
            rows.append(Compared(launch.name, True, told="not computed"))
        else:
            rows.append(compared(launch))
            torch.cuda.synchronize()
    kernels = {
        name: {"launches": found.launches, "fast": found.fast, "fallbacks": dict(found.fallbacks)}
        for name, found in tlx.stats().items()
    }
    print(json.dumps({"launches": [asdict(row) for row in rows], "kernels": kernels}))
    return int(not all(row.right for row in rows))


if __name__ == "__main__":
    sys.exit(main())
