"""Stand-ins for what needs a GPU: tensors without memory, a converted kernel that records its launches, a chip."""

import inspect
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import triton

import tlx.launch as launch
from tests.tlx.launch import kernels


class DType(NamedTuple):
    name: str
    itemsize: int
    is_floating_point: bool = True

    def __str__(self):
        return self.name


FP16, BF16, FP32 = DType("float16", 2), DType("bfloat16", 2), DType("float32", 4)


class Memory:
    """A tensor as far as a launch can tell."""

    def __init__(self, address: int, shape: tuple[int, ...] = (), dtype: DType = FP16) -> None:
        self.address, self.shape, self.dtype = address, shape, dtype

    def data_ptr(self):
        return self.address

    def element_size(self):
        return self.dtype.itemsize


@dataclass
class Launch:
    kernel: str
    arguments: dict[str, Any]
    grid: Any
    options: dict[str, Any]


class Recording:
    """A kernel whose launches are recorded instead of run; `limit` is the deepest ring it has resources for."""

    def __init__(self, function, log: list[Launch], limit: int = 99) -> None:
        self.fn, self.log, self.limit = function, log, limit
        self.__name__ = function.__name__
        self.signature = inspect.signature(function)
        self.arg_names = list(self.signature.parameters)
        self.error: Exception | None = None

    def run(self, *args, grid, warmup, **options):
        arguments = dict(zip(self.arg_names, args, strict=True))
        if self.error is not None:
            raise self.error
        if arguments.get("STAGES", 0) > self.limit:
            raise triton.runtime.errors.OutOfResources(300_000, 232_448, "shared memory")
        self.log.append(Launch("specialized" if not warmup else "warmup", arguments, grid, options))
        return "specialized"


def fresh_source():
    """A jit function of its own for each test, whose launches can be recorded."""
    return triton.jit(kernels.matmul.fn)


@dataclass
class Bench:
    """A source kernel in its decorators, its conversion, and the record of what either launched."""

    log: list[Launch] = field(default_factory=list)

    def bind(self, decorate=lambda kernel: kernel, *, limit=99, **changes):
        self.source = fresh_source()
        names = self.source.arg_names

        def original(*args, grid, warmup, **kwargs):
            named = {**dict(zip(names, args, strict=False)), **kwargs}
            name = "original" if not warmup else "warmup of the original"
            self.log.append(Launch(name, named, grid(named) if callable(grid) else grid, {}))
            return name

        self.source.run = original
        self.converted = Recording(changes.pop("converted", kernels.persistent), self.log, limit)
        settings = {
            "guard": kernels.guard,
            "boxes": kernels.boxes,
            "schedule": launch.Schedule(split="BLOCK_M", persistent=True, grid_rank=1, output=("BLOCK_M", "BLOCK_N")),
            "fingerprint": launch.fingerprint_of(kernels.matmul),
            **changes,
        }
        return launch.specialized(decorate(self.source), self.converted, **settings)

    @property
    def ran(self) -> list[str]:
        return [entry.kernel for entry in self.log]


def operands(M=512, N=512, K=256, dtype=FP16, base=1 << 20):
    """Tensors, sizes and strides of a row-major product, in the order of the source's parameters."""
    step = 1 << 22
    a, b, c = (Memory(base + i * step, dtype=dtype) for i in range(3))
    return [a, b, c, M, N, K, K, 1, N, 1, N, 1]


def grid_of(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"]),)


TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
