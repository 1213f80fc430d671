"""Runs a kernel on the CPU: arguments in, findings out."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any, Literal

import numpy as np
import triton.language as tl
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .cluster import Cluster, clusters
from .collected import Findings
from .dtypes import triton_dtype
from .findings import GlobalOutOfBounds
from .interpreter import INTERPRETER, SEMANTIC, Program
from .memory import GlobalMemory
from .observer import Observer
from .patches import installed
from .recording import Recorder
from .report import Report, SimulationError
from .scheduler import Agent, Halt, Scheduler
from .schedules import Picker, Schedule, picker, replay_text
from .sharing import Sharing
from .sites import MARK, Site, here
from .tensors import Allocation, SimTensor, is_tensor, tensor
from .values import Value, scalar_tensor

#: launch options that change nothing here
_OPTIONS = frozenset(
    {
        "ctas_per_cga",
        "debug",
        "enable_fp_fusion",
        "launch_cooperative_grid",
        "launch_pdl",
        "maxnreg",
        "num_ctas",
        "num_stages",
        "num_warps",
        "sanitize_overflow",
        "stream",
        "warmup",
    }
)


def unwrap_kernel(kernel: Any) -> JITFunction:
    """The jit function inside autotune, heuristics and the like.

    Raises:
        TypeError: there is none.
    """
    inner = kernel
    while not isinstance(inner, JITFunction):
        inner = getattr(inner, "fn", None)
        if inner is None:
            raise TypeError(f"expected a function decorated with triton.jit or tlx.jit, not {kernel!r}")
    return inner


def run(
    kernel: Any,
    grid: Sequence[int] | Callable[[dict[str, Any]], Sequence[int]],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    schedule: Schedule = "late",
    check: bool = True,
    max_ctas: int | None = None,
    order: Callable[[list[tuple[int, int, int]]], list[tuple[int, int, int]]] | None = None,
    lift: bool = False,
    tf32: bool = True,
    fences: Literal["written", "compiled"] = "written",
    max_steps: int = 10_000_000,
    max_turns: int = 1_000_000,
    record: bool = False,
    sharing: bool = False,
    observer: Observer | None = None,
) -> Report:
    """Simulates a launch, one CTA (or cluster of ``ctas_per_cga``) after the other, and reports what is wrong with it.

    Outputs are written to the arguments, as on a GPU. A kernel without tasks simply runs; this is how a plain Triton
    kernel serves as reference.

    Args:
        kernel: a ``tlx.jit`` or ``triton.jit`` function, also under ``autotune`` or ``heuristics`` (which are passed
            over).
        grid: up to three extents, or a function of the arguments by name.
        args: positional arguments: numpy and ml_dtypes arrays, ``tlx.sim.tensor``s, torch CPU tensors, host
            ``TensorDescriptor``s over any of these, numbers, None, tuples.
        kwargs: the rest by name, constexprs and ``num_warps`` among them.
        schedule: "late" (asynchronous work completes as late as possible), "eager", ``Seeded(n)`` or an integer seed,
            a recording (a ``Recording``, its JSON, or the ``.json`` file that holds it), or a ``Picker`` of your own.
        check: look for races and the like; without it only deadlocks, misuse of barriers and out-of-bounds accesses
            are.
        max_ctas: simulate only so many.
        order: a function that puts the program ids in another order; by default x is innermost.
        lift: compute with float64 wherever the kernel has a float type, rounding nowhere; outputs go to
            ``SimTensor.lifted``. Casts to integers and fp8 and bit casts stay, and are listed in ``Report.unlifted``.
        tf32: cut fp32 operands of dots to tf32 where the kernel allows it, as the GPU does.
        fences: whether to count only the proxy fences that the kernel has ("written"), or also those that compilers add
            before TMA and the tensor core read what ordinary stores wrote ("compiled", as Meta's and ours do).
        max_steps: scheduling points after which a CTA is given up as endless.
        max_turns: turns of ``while`` loops, with no scheduling point but atomics among them, after which it is as well.
        record: keep the choices that the schedule made in ``Report.recording``.
        sharing: look for programs that touch the same memory through pointers, one of them storing, with no atomics to
            order them (``Report.clashes``).
        observer: told of everything that happens.

    Raises:
        EndlessError: a program does not end.
        SimulationError: the kernel is not valid, or uses something that is not simulated; the user's line is in the
            text.
        TypeError: ``kernel`` is no kernel, or an argument has a type that Triton lacks.
        ValueError: ``schedule`` is none.
    """
    jit = unwrap_kernel(kernel)
    options = {name: value for name, value in (kwargs or {}).items() if name in _OPTIONS and name not in jit.arg_names}
    named = {name: value for name, value in (kwargs or {}).items() if name not in options}
    bound = inspect.signature(jit.fn).bind(*args, **named)
    bound.apply_defaults()
    choices = picker(schedule)
    recorder = Recorder(choices) if record else None
    launch = _Launch(
        jit, dict(bound.arguments), options, recorder or choices, replay_text(schedule), check, lift, tf32, fences,
        (max_steps, max_turns), observer, Sharing() if sharing else None,
    )  # fmt: skip
    extents = grid(bound.arguments) if callable(grid) else grid
    report = launch.run(_programs([int(extent) for extent in extents], order, max_ctas))
    return report if recorder is None else replace(report, recording=recorder.recording)


def _programs(
    extents: list[int], order: Any, most: int | None
) -> tuple[tuple[int, int, int], list[tuple[int, int, int]]]:
    if not 1 <= len(extents) <= 3:
        raise TypeError(f"a grid has one to three extents, not {len(extents)}")
    x, y, z = (*extents, 1, 1)[:3]
    ids = ((i, j, k) for k, j, i in product(range(z), range(y), range(x)))
    programs = list(islice(ids, most if order is None else None))
    if order is not None:
        programs = order(programs)[:most]
    return (x, y, z), programs


class _Launch:
    """One call of ``run``."""

    def __init__(
        self,
        jit: JITFunction,
        arguments: dict[str, Any],
        options: dict[str, Any],
        choices: Picker,
        replay: str,
        check: bool,
        lift: bool,
        tf32: bool,
        fences: str,
        most: tuple[int, int],
        observer: Observer | None,
        sharing: Sharing | None = None,
    ) -> None:
        if options.get("num_ctas", 1) != 1:
            raise SimulationError(
                "num_ctas lets one program run on several CTAs, which is not simulated; see ctas_per_cga"
            )
        #: CTAs of a cluster along x, y and z
        self.cluster: tuple[int, ...] = (*(int(n) for n in options.get("ctas_per_cga") or (1,)), 1, 1)[:3]
        self.jit = jit
        self.arguments = arguments
        self.warps = int(options.get("num_warps", 4))
        self.picker = choices
        self.check = check
        self.lift = lift
        self.tf32 = tf32
        self.fences = fences
        self.most = most
        self.observer = observer
        self.sharing = sharing
        self.findings = Findings(replay, observer)
        self.allocations: dict[int, Allocation] = {}
        #: clusters not launched yet
        self.pending: deque[list[tuple[int, int, int]]] = deque()
        self.steps = 0
        self.events = 0
        self.trips = 0
        self.fills = 0

    def run(self, grid: tuple[tuple[int, int, int], list[tuple[int, int, int]]]) -> Report:
        """Runs the programs in order."""
        extents, programs = grid
        builder = SEMANTIC.builder
        outer = (builder.memory, builder.lift, builder.tf32, builder.unlifted)
        watched = SEMANTIC.observer
        with installed(), np.errstate(all="ignore"):  # kernels compute with infinities and NaN on purpose
            try:
                builder.lift, builder.tf32, builder.unlifted = self.lift, self.tf32, set()
                tensors = {name: self._tensors(value) for name, value in self.arguments.items()}
                builder.memory = GlobalMemory(self.allocations.values(), self.lift, self._out_of_bounds)
                builder.memory.observer = SEMANTIC.observer = self.observer
                builder.memory.sharing = self.sharing
                INTERPRETER.epoch += 1
                program = INTERPRETER.program(self.jit)
                values = {
                    name: value if name in program.constants else self._value(value) for name, value in tensors.items()
                }
                builder.set_grid_dim(*extents)
                self.pending = deque(clusters(programs, extents, self.cluster))
                while self.pending:
                    self._run_cluster(program, values, self.pending.popleft())
                unlifted = tuple(sorted(builder.unlifted))
            finally:
                builder.memory, builder.lift, builder.tf32, builder.unlifted = outer
                SEMANTIC.observer = watched
        found = tuple(self.findings)
        counts = (self.steps, self.events, len(programs), unlifted, self.trips, self.fills)
        return Report(found, self.findings.schedule, *counts, self.sharing.clashes if self.sharing is not None else ())

    def _run_cluster(self, program: Program, values: dict[str, Any], indices: list[tuple[int, int, int]]) -> None:
        scheduler = Scheduler(self.picker, *self.most, self.observer, self._enter)
        if self.observer is not None:
            self.observer.program(indices[0])
        SEMANTIC.builder.step, SEMANTIC.builder.turn = scheduler.look, scheduler.turn
        if self.sharing is not None:
            self.sharing.enter()
        SEMANTIC.builder.dots.clear()
        SEMANTIC.builder.copies.clear()
        cluster = Cluster(scheduler, self.findings, self.check, self.warps, indices, self._claim, self.fences)
        try:
            cluster.run(lambda: program.run(**values))
        except Halt:
            pass
        except SimulationError:
            raise
        except Exception as error:
            raise SimulationError(f"{type(error).__name__}: {error}", _raised_at(error)) from error
        finally:
            self.steps += scheduler.steps
            self.events += scheduler.events
            self.trips = max(self.trips, *SEMANTIC.builder.dots.values(), 0)
            self.fills = max(self.fills, *SEMANTIC.builder.copies.values(), 0)
            if self.observer is not None:
                self.observer.finished()

    def _enter(self, agent: Agent) -> None:
        """What follows happens in the agent's CTA."""
        SEMANTIC.cta = agent.cta
        SEMANTIC.builder.set_grid_idx(*agent.cta.program)
        self.findings.program = agent.cta.program

    def _claim(self) -> tuple[int, int, int] | None:
        """Takes the next cluster out of the grid, for one that is running."""
        return self.pending.popleft()[0] if self.pending else None

    def _out_of_bounds(self, what: str) -> None:
        agent = SEMANTIC.cta.scheduler.current
        self.findings.add(GlobalOutOfBounds, what, here(), None, (agent.name,) if agent is not None else ())

    # arguments -------------------------------------------------------------------------------------------------------

    def _tensors(self, value: Any) -> Any:
        """Arrays become tensors, and are noted as memory of this launch."""
        if isinstance(value, TensorDescriptor):
            base = self._tensors(value.base)
            extra = {"round_f32_to_tf32": True} if getattr(value, "round_f32_to_tf32", False) else {}
            return TensorDescriptor(base, value.shape, value.strides, value.block_shape, value.padding, **extra)
        if isinstance(value, tuple):
            parts = [self._tensors(item) for item in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_tensor(value):
            value = tensor(value)
            self.allocations[id(value.allocation)] = value.allocation
        return value

    def _value(self, value: Any) -> Any:
        """What the kernel sees of an argument that is not a constexpr."""
        if isinstance(value, SimTensor):
            dtype = tl.pointer_type(triton_dtype(str(value.dtype)))
            return tl.tensor(Value(np.array([value.data_ptr()], np.uint64), dtype), dtype)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(value)
        if isinstance(value, tuple):
            parts = [self._value(item) for item in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tl.core.tuple(parts)
        if isinstance(value, (np.integer, np.floating, np.bool_)):
            value = value.item()
        if isinstance(value, bool):
            return scalar_tensor(value, tl.int1)
        if isinstance(value, int) and -(2**31) <= value < 2**31:
            return scalar_tensor(value, tl.int32)
        if isinstance(value, int):
            return SEMANTIC.to_tensor(value)
        if isinstance(value, float):
            # Triton passes every float as fp32; a lifted run starts from what the kernel receives.
            received = float(np.float32(value))
            return tl.tensor(SEMANTIC.builder.get_fp32(received), tl.float32)
        return value

    def _descriptor(self, desc: TensorDescriptor) -> Any:
        strides = [*(self._value(int(stride)) for stride in desc.strides[:-1]), tl.constexpr(1)]
        shape = [self._value(int(extent)) for extent in desc.shape]
        block = [tl.constexpr(int(extent)) for extent in desc.block_shape]
        made = SEMANTIC.make_tensor_descriptor(self._value(desc.base), shape, strides, block, desc.padding)
        if getattr(desc, "round_f32_to_tf32", False):
            made.handle = replace(made.handle, round_tf32=True)
        return made


def _raised_at(error: BaseException) -> Site | None:
    """The innermost line of user code that an exception passed through."""
    site = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get(MARK):
            site = Site(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return site
