"""What each call in a kernel means for barriers and shared memory."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .events import Arrive, Commit, Expect, Fill, Issue, Multiply, Named, Retire, Wait
from .values import Barrier, BarrierArray, Buffer, DType, InFlight, Misuse, Unknown, View, refuse, sources_of

if TYPE_CHECKING:
    from .follow import Follower

#: Functions that give their first argument back.
_TRANSPARENT = ("tl.constexpr", "tl.multiple_of", "tl.max_contiguous", "tl.max_constancy", "int", "float")
#: Named by their effect on global memory: each call is another value.
_IMPURE = ("tl.atomic", "tl.inline_asm_elementwise", "tlx.clock64", "tl.rand")
#: Dots of values in registers, with their first parameters: those that are multiplied.
_DOTS = {"tl.dot": ("input", "other"), "tl.dot_scaled": ("lhs", "lhs_scale", "lhs_format", "rhs", "rhs_scale")}

Arguments: TypeAlias = dict[str, Any]
Handler: TypeAlias = "Callable[[Follower, int, Arguments], Any]"
H = TypeVar("H", bound=Callable[..., Any])

_HANDLERS: dict[str, tuple[tuple[str, ...], Handler]] = {}


def _handles(name: str, *parameters: str) -> Callable[[H], H]:
    """Registers the meaning of `tlx.<name>`, whose parameters in order are given; those that are not can only be given
    by name.
    """

    def register(handler: H) -> H:
        if name in _HANDLERS:
            raise ValueError(f"tlx.{name} has two meanings")
        _HANDLERS[name] = (parameters, handler)
        return handler

    return register


def call(follower: Follower, node: ast.Call) -> Any:
    """The value of a call, after noting what it does."""
    line = node.lineno
    name = follower.module.dotted(node.func)
    if name is None and isinstance(node.func, ast.Name):
        name = node.func.id
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(keyword.arg is None for keyword in node.keywords):
        refuse(line, "starred arguments are not followed")
    args = [follower.value(arg) for arg in node.args]
    kwargs = {str(keyword.arg): follower.value(keyword.value) for keyword in node.keywords}
    if name is not None and name.startswith("tlx."):
        return _primitive(follower, line, name.removeprefix("tlx."), args, kwargs)
    if isinstance(node.func, ast.Name) and node.func.id in follower.module.functions:
        return follower.inline(follower.module.functions[node.func.id], args, kwargs, line)
    args = [follower.settled(value, line) for value in args]
    kwargs = {key: follower.settled(value, line) for key, value in kwargs.items()}
    for value in (*args, *kwargs.values()):
        if isinstance(value, Buffer | View | Barrier | BarrierArray):
            refuse(line, f"{name or ast.unparse(node.func)} takes shared memory, and what it does there is not known")
    if name is None:
        return _method(follower, node, args, kwargs)
    if name in _DOTS:
        operands = {**dict(zip(_DOTS[name], args, strict=False)), **kwargs}
        follower.emit(Multiply(line, sources_of(tuple(operands.get(operand) for operand in _DOTS[name]))))
    return _pure(follower, name, args, kwargs)


def _primitive(follower: Follower, line: int, name: str, args: list[Any], kwargs: Arguments) -> Any:
    if name not in _HANDLERS:
        refuse(line, f"tlx.{name} is not followed")
    parameters, handler = _HANDLERS[name]
    if len(args) > len(parameters):
        refuse(line, f"tlx.{name} is followed with at most {len(parameters)} arguments by position")
    return handler(follower, line, {**dict(zip(parameters, args, strict=False)), **kwargs})


def _method(follower: Follower, node: ast.Call, args: list[Any], kwargs: Arguments) -> Any:
    if not isinstance(node.func, ast.Attribute):
        refuse(node.lineno, "only named functions and methods are followed")
    receiver = follower.settled(follower.value(node.func.value), node.lineno)
    if isinstance(receiver, Buffer | View | Barrier | BarrierArray):
        refuse(node.lineno, f"the method {node.func.attr} of shared memory is not followed")
    if isinstance(receiver, bool | int | float) and node.func.attr == "to":
        return receiver
    return Unknown.of("method", node.func.attr, receiver, *args, *kwargs.items())


def _pure(follower: Follower, name: str, args: list[Any], kwargs: Arguments) -> Any:
    numbers = bool(args) and not kwargs and all(isinstance(arg, bool | int | float) for arg in args)
    if name in _TRANSPARENT and args:
        return args[0]
    if name in ("tl.program_id", "tl.num_programs"):
        axis = args[0] if args else kwargs.get("axis", 0)
        numbers_of = follower.world.program_id if name == "tl.program_id" else follower.world.num_programs
        return numbers_of[axis] if isinstance(axis, int) and axis < len(numbers_of) else Unknown.of(name, axis)
    if numbers and name in ("min", "max", "abs", "tl.minimum", "tl.maximum", "tl.abs"):
        function: dict[str, Callable[..., Any]] = {"min": min, "max": max, "minimum": min, "maximum": max, "abs": abs}
        return function[name.removeprefix("tl.")](*args)
    if numbers and name in ("tl.cdiv", "triton.cdiv") and len(args) == 2 and args[1]:
        return -(-args[0] // args[1])
    if numbers and name == "triton.next_power_of_2":
        return 1 << max(0, math.ceil(math.log2(max(1, args[0]))))
    if name == "len" and isinstance(args[0], tuple):
        return len(args[0])
    if name.startswith(_IMPURE):
        follower.fresh += 1
        return Unknown.of(name, follower.agent, follower.fresh)
    return Unknown.of(name, *args, *kwargs.items())


def _number(value: Any, line: int, what: str) -> int:
    if not isinstance(value, int):
        refuse(line, f"{what} is not known")
    return value


def _barrier(arguments: Arguments, line: int, name: str = "bar") -> Barrier:
    value = arguments.get(name)
    if isinstance(value, BarrierArray):
        raise Misuse("barrier-array", line, f"{value.name} is an array of barriers: index it")
    if not isinstance(value, Barrier):
        refuse(line, "the barrier is not known")
    return value


def _view(follower: Follower, value: Any, line: int) -> View:
    if isinstance(value, Buffer) and value.slots == 1:
        view = follower.slot(value, 0, line)
        assert isinstance(view, View)
        return view
    if not isinstance(value, View):
        refuse(line, "the buffer is not known")
    return value


def _predicate(arguments: Arguments, line: int) -> None:
    if arguments.get("pred") is not None and arguments["pred"] is not True:
        refuse(line, "predicated barrier operations are not followed")


def _itemsize(follower: Follower, dtype: Any, line: int) -> int:
    if isinstance(dtype, DType):
        return dtype.itemsize
    if not isinstance(dtype, Unknown):
        refuse(line, "the element type is not known")
    return follower.world.itemsize


@_handles("local_alloc", "shape", "dtype", "num", "storage", "reuse", "layout")
def _local_alloc(follower: Follower, line: int, arguments: Arguments) -> Buffer:
    shape, count = arguments.get("shape"), _number(arguments.get("num"), line, "the number of slots")
    if not isinstance(shape, tuple) or not all(isinstance(extent, int) for extent in shape):
        refuse(line, "the shape of the buffer is not known")
    reuse = arguments.get("reuse")
    if reuse is not None and not isinstance(reuse, Buffer):
        refuse(line, "what the buffer reuses is not known")
    itemsize = _itemsize(follower, arguments.get("dtype"), line)
    buffer = Buffer(follower.target or f"buffer at line {line}", shape, itemsize, count, line, reuse)
    follower.buffers.append(buffer)
    return buffer


@_handles("alloc_barriers", "num_barriers", "arrive_count")
def _alloc_barriers(follower: Follower, line: int, arguments: Arguments) -> BarrierArray:
    count = _number(arguments.get("num_barriers"), line, "the number of barriers")
    arrivals = _number(arguments.get("arrive_count", 1), line, "the arrive count")
    follower.barriers.append(BarrierArray(follower.target or f"barriers at line {line}", count, arrivals, False, line))
    return follower.barriers[-1]


@_handles("alloc_warp_barrier", "num_barriers", "num_warps", "num_arrivals")
def _alloc_warp_barrier(follower: Follower, line: int, arguments: Arguments) -> BarrierArray:
    count = _number(arguments.get("num_barriers"), line, "the number of barriers")
    warps = _number(arguments.get("num_warps", 1), line, "the number of warps")
    arrivals = _number(arguments.get("num_arrivals", 1), line, "the arrive count")
    follower.barriers.append(
        BarrierArray(follower.target or f"barriers at line {line}", count, 32 * warps * arrivals, True, line)
    )
    return follower.barriers[-1]


@_handles("local_view", "local_allocated_buffers", "buffer_idx")
def _local_view(follower: Follower, line: int, arguments: Arguments) -> View | Barrier:
    array = arguments.get("local_allocated_buffers")
    if not isinstance(array, Buffer | BarrierArray):
        refuse(line, "the buffer is not known")
    return follower.slot(array, arguments.get("buffer_idx"), line)


@_handles("local_trans", "input", "dims")
def _local_trans(follower: Follower, line: int, arguments: Arguments) -> View:
    view, dims = _view(follower, arguments.get("input"), line), arguments.get("dims", (1, 0))
    if not isinstance(dims, tuple) or sorted(dims) != list(range(len(view.axes))):
        refuse(line, "the permutation is not known")
    return replace(view, axes=tuple(view.axes[dim] for dim in dims))


@_handles("local_slice", "buffer", "offset", "shape")
def _local_slice(follower: Follower, line: int, arguments: Arguments) -> View:
    view = _view(follower, arguments.get("buffer"), line)
    offset, shape = list(view.offset), list(view.extent)
    for axis, start, extent in zip(view.axes, arguments["offset"], arguments["shape"], strict=True):
        start, extent = _number(start, line, "the offset"), _number(extent, line, "the shape")
        if start < 0 or start + extent > shape[axis]:
            raise Misuse("slot-out-of-range", line, f"the slice leaves {view.label}")
        offset[axis], shape[axis] = offset[axis] + start, extent
    return replace(view, offset=tuple(offset), extent=tuple(shape))


@_handles("local_reshape", "src", "shape")
@_handles("local_reinterpret", "src", "dtype", "shape", "layout")
def _same_bytes(follower: Follower, line: int, arguments: Arguments) -> View:
    return _view(follower, arguments.get("src"), line)


@_handles("local_load", "src", "token", "layout", "relaxed")
def _local_load(follower: Follower, line: int, arguments: Arguments) -> Unknown:
    view = _view(follower, arguments.get("src"), line)
    follower.touch(view, line, writes=False)
    follower.fresh += 1
    return replace(Unknown.of("local_load", follower.agent, follower.fresh), sources=frozenset({view.buffer.storage}))


@_handles("local_store", "dst", "src")
def _local_store(follower: Follower, line: int, arguments: Arguments) -> None:
    source = follower.settled(arguments.get("src"), line)
    follower.touch(_view(follower, arguments.get("dst"), line), line, writes=True, sources=sources_of(source))


@_handles("barrier_expect_bytes", "bar", "size", "pred")
def _expect(follower: Follower, line: int, arguments: Arguments) -> None:
    _predicate(arguments, line)
    size = _number(arguments.get("size"), line, "the number of bytes")
    follower.emit(Expect(line, _barrier(arguments, line), size))


@_handles("barrier_wait", "bar", "phase", "pred")
def _wait(follower: Follower, line: int, arguments: Arguments) -> None:
    _predicate(arguments, line)
    follower.emit(Wait(line, _barrier(arguments, line), _number(arguments.get("phase"), line, "the parity") & 1))


@_handles("barrier_arrive", "bar", "arrive_count", "remote_cta_rank", "pred")
def _arrive(follower: Follower, line: int, arguments: Arguments) -> None:
    _predicate(arguments, line)
    if arguments.get("remote_cta_rank") is not None:
        refuse(line, "arrivals on another CTA's barrier are not followed")
    barrier = _barrier(arguments, line)
    follower.emit(Arrive(line, barrier, _number(arguments.get("arrive_count", 1), line, "the arrive count")))


@_handles("named_barrier_wait", "bar", "arrive_count")
def _named_wait(follower: Follower, line: int, arguments: Arguments) -> None:
    number, threads = (_number(arguments.get(name), line, name) for name in ("bar", "arrive_count"))
    follower.emit(Named(line, number, threads, blocks=True))


@_handles("named_barrier_arrive", "bar", "arrive_count")
def _named_arrive(follower: Follower, line: int, arguments: Arguments) -> None:
    number, threads = (_number(arguments.get(name), line, name) for name in ("bar", "arrive_count"))
    follower.emit(Named(line, number, threads, blocks=False))


@_handles(
    "async_descriptor_load", "desc", "result", "offsets", "barrier", "pred", "cache_modifier", "eviction_policy",
    "multicast_targets", "two_ctas",
)  # fmt: skip
def _descriptor_load(follower: Follower, line: int, arguments: Arguments) -> None:
    _predicate(arguments, line)
    if arguments.get("multicast_targets") or arguments.get("two_ctas"):
        refuse(line, "loads across CTAs are not followed")
    follower.emit(Fill(line, _view(follower, arguments.get("result"), line), _barrier(arguments, line, "barrier")))


@_handles("async_descriptor_store", "desc", "source", "offsets", "eviction_policy", "store_reduce")
def _descriptor_store(follower: Follower, line: int, arguments: Arguments) -> None:
    follower.emit(Issue(line, "store", (_view(follower, arguments.get("source"), line),), writes=False))


@_handles("async_descriptor_store_wait", "pendings")
def _descriptor_store_wait(follower: Follower, line: int, arguments: Arguments) -> None:
    follower.emit(Retire(line, "store", _number(arguments.get("pendings"), line, "the number of pending stores")))


@_handles(
    "async_load", "src", "result", "mask", "other", "cache_modifier", "eviction_policy", "is_volatile", "bulk",
    "bulk_size", "barrier",
)  # fmt: skip
def _async_load(follower: Follower, line: int, arguments: Arguments) -> Unknown:
    if arguments.get("bulk"):
        refuse(line, "bulk copies are not followed")
    follower.emit(Issue(line, "copy", (_view(follower, arguments.get("result"), line),), writes=True))
    return Unknown.of("token")


@_handles("async_load_commit_group", "tokens")
def _commit(follower: Follower, line: int, arguments: Arguments) -> Unknown:
    follower.emit(Commit(line))
    return Unknown.of("token")


@_handles("async_load_wait_group", "pendings", "tokens")
def _wait_group(follower: Follower, line: int, arguments: Arguments) -> Unknown:
    follower.emit(Retire(line, "copy", _number(arguments.get("pendings"), line, "the number of pending groups")))
    return Unknown.of("token")


@_handles(
    "async_dot", "A", "B", "acc", "use_acc", "pred", "mBarriers", "two_ctas", "force_async", "input_precision",
    "out_dtype",
)  # fmt: skip
def _async_dot(follower: Follower, line: int, arguments: Arguments) -> InFlight:
    for name in ("use_acc", "pred", "mBarriers"):
        if arguments.get(name):
            raise Misuse("ignored-argument", line, f"async_dot ignores {name} on Hopper")
    for operand in ("A", "B"):
        follower.settled(arguments.get(operand), line)
    views = tuple(
        _view(follower, value, line)
        for value in (arguments.get("A"), arguments.get("B"))
        if isinstance(value, View | Buffer)
    )
    if not isinstance(arguments.get("B"), View | Buffer):
        refuse(line, "operand B of async_dot is not in shared memory")
    follower.dots += 1
    follower.emit(Issue(line, "dot", views, writes=False, sources=sources_of(arguments.get("A"))))
    return InFlight(follower.dots)


@_handles("async_dot_wait", "pendings", "inp")
def _async_dot_wait(follower: Follower, line: int, arguments: Arguments) -> Any:
    pending = _number(arguments.pop("pendings"), line, "the number of pending dots")
    follower.emit(Retire(line, "dot", pending))
    value = arguments.get("inp")
    if not isinstance(value, InFlight) or value.newest > follower.dots - pending:
        return value
    return Unknown.of("dot", follower.agent, value.newest)


@_handles("async_task_replica_id")
def _replica(follower: Follower, line: int, arguments: Arguments) -> int:
    if follower.replica is None:
        raise Misuse("replica-outside-task", line, "async_task_replica_id is only known in a task")
    return follower.replica


@_handles("get_bufidx_phase", "accum_cnt", "NUM_BUFFERS")
def _slot_and_phase(follower: Follower, line: int, arguments: Arguments) -> tuple[int, int]:
    count = _number(arguments.get("accum_cnt"), line, "the counter")
    slots = _number(arguments.get("NUM_BUFFERS"), line, "the number of slots")
    return count % slots, (count // slots) & 1


@_handles("dtype_of", "v")
def _dtype_of(follower: Follower, line: int, arguments: Arguments) -> DType:
    value = arguments.get("v")
    buffer = value.buffer if isinstance(value, View) else value
    if isinstance(buffer, Buffer):
        return DType(f"dtype of {buffer.name}", buffer.itemsize)
    if not isinstance(value, Unknown):
        refuse(line, "the element type is not known")
    return DType(f"dtype of {value.key}", follower.world.itemsizes.get(value.key, follower.world.itemsize))


@_handles("size_of", "dtype")
def _size_of(follower: Follower, line: int, arguments: Arguments) -> int:
    return _itemsize(follower, arguments.get("dtype"), line)


@_handles("fence", "scope")
@_handles("fence_async_shared")
def _fence(follower: Follower, line: int, arguments: Arguments) -> None:
    """Orders the task's own accesses; the order between tasks, which is checked here, does not depend on it."""


@_handles("cluster_cta_rank")
def _rank(follower: Follower, line: int, arguments: Arguments) -> int:
    return 0


@_handles("thread_id", "axis")
def _thread_id(follower: Follower, line: int, arguments: Arguments) -> Unknown:
    return Unknown.of("thread_id", arguments.get("axis", 0))
