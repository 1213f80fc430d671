"""Follows a kernel's text in one world and notes what each task does to barriers and shared memory."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from . import calls
from .events import Access, Agent, Event, Trace
from .expressions import Expressions
from .module import Module
from .values import BarrierArray, Buffer, Misuse, Unknown, View, refuse
from .world import World

_MAX_EVENTS = 200_000
_MAX_TRIPS = 1_000
_MAX_DEPTH = 12


class Returned(Exception):
    """A `return` was reached. Carries its value."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class Follower(Expressions):
    """The state of following one kernel in one world."""

    def __init__(self, module: Module, world: World, given: Mapping[str, int] = MappingProxyType({})) -> None:
        """`given` are lengths that only memory knows, as they were taken when the kernel was followed before."""
        super().__init__(module, world)
        self.given = given
        self.numbers |= given
        self.buffers: list[Buffer] = []
        self.barriers: list[BarrierArray] = []
        self.stretches: list[tuple[Agent, ...]] = []
        self.events: list[Event] = []
        self.dots = 0
        #: Outcomes of conditions that only memory knows, by line of the `if` and key.
        self.decided: dict[tuple[int, str], bool] = {}
        #: Lines at which the world's way was followed.
        self.led: set[int] = set()
        #: The name that the statement at hand binds: what an allocation is called in findings.
        self.target = ""
        self.replica: int | None = None
        self.agent = "kernel"
        self.in_task = False
        self.fresh = 0
        self.depth = 0

    def run(self, kernel: str) -> Trace:
        """What `kernel` does. Raises NotProved and Misuse."""
        function = self.module.functions[kernel]
        for parameter in _parameters(function):
            self.names[parameter] = self.world.values.get(parameter, Unknown(parameter))
        with contextlib.suppress(Returned):
            self.body(function.body)
        self.close_stretch(function.lineno)
        return Trace(tuple(self.stretches))

    def close_stretch(self, line: int) -> None:
        """Ends a stretch of code outside tasks."""
        if self.events:
            self.stretches.append((Agent("kernel", line, self.world.num_warps, None, True, tuple(self.events)),))
        self.events, self.dots = [], 0

    def emit(self, event: Event) -> None:
        """Notes one event of the current task."""
        self.events.append(event)
        if len(self.events) > _MAX_EVENTS:
            refuse(event.line, "the loops run too long to follow")

    def inline(self, function: ast.FunctionDef, args: list[object], kwargs: dict[str, object], line: int) -> object:
        """The value of a call of a helper function of the module."""
        if self.depth >= _MAX_DEPTH:
            refuse(line, f"calls of {function.name} nest too deep")
        outer, self.names = self.names, {}
        self.depth += 1
        try:
            names = _parameters(function)
            for name, default in _defaults(function):
                self.names[name] = self.value(default)
            self.names.update(zip(names, args, strict=False))
            self.names.update(kwargs)
            if missing := [name for name in names if name not in self.names]:
                refuse(line, f"the call of {function.name} leaves out {missing[0]}")
            self.body(function.body)
            return None
        except Returned as returned:
            return returned.value
        finally:
            self.names = outer
            self.depth -= 1

    def body(self, statements: list[ast.stmt]) -> None:
        """Follows statements in order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Follows one statement."""
        match node:
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assign(targets=targets, value=value):
                self.target = targets[0].id if isinstance(targets[0], ast.Name) else ""
                result = self.value(value)
                for target in targets:
                    self.assign(target, result)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.target = target.id if isinstance(target, ast.Name) else ""
                self.assign(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self.names[name] = self.binary(node.lineno, op, self.name(name), self.value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                self.body(body if self.arm(self.value(test), node.lineno) else orelse)
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                for item in self.trips(iterable):
                    self.assign(target, item)
                    self.body(body)
            case ast.While(test=test, body=body, orelse=[]):
                for _ in range(_MAX_TRIPS):
                    if not self.truth(self.value(test), node.lineno):
                        break
                    self.body(body)
                else:
                    refuse(node.lineno, "the loop does not end within the trips that are followed")
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
                self.region(node, call, body)
            case ast.Return(value=value):
                if self.in_task and self.depth == 0:
                    raise Misuse(
                        "return-in-task", node.lineno, "a task returns: tasks of one region must all reach its end"
                    )
                raise Returned(None if value is None else self.value(value))
            case ast.Pass() | ast.Assert() | ast.AnnAssign():
                pass
            case _:
                refuse(node.lineno, f"a statement of kind {type(node).__name__} is not followed")

    def arm(self, test: object, line: int) -> bool:
        """Which arm of an `if` is taken; where only memory knows, that is noted."""
        if not isinstance(test, Unknown):
            return self.truth(test, line)
        asked = Unknown(test.key.removeprefix("not "))
        # The first time leads on for sure; later on some tiles go this way and some another.
        if line in self.world.way and (line not in self.led or asked.choice(self.world.seed + 1, 3)):
            self.led.add(line)
            self.chosen.setdefault(asked.key, self.world.way[line])
        result = self.truth(test, line)
        self.decided[line, asked.key] = result != (asked.key != test.key)
        return result

    def assign(self, target: ast.expr, value: object) -> None:
        """Binds a name, or the names of a tuple."""
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = list(value) if isinstance(value, tuple) and len(value) == len(elements) else None
                for index, element in enumerate(elements):
                    self.assign(element, items[index] if items else Unknown.of("item", index, value))
            case _:
                refuse(target.lineno, "only names can be assigned to")

    def trips(self, node: ast.expr) -> Iterator[object]:
        """The values a loop variable takes."""
        if not (isinstance(node, ast.Call) and _callee(self.module, node) in ("range", "tl.range", "tl.static_range")):
            iterable = self.value(node)
            if not isinstance(iterable, tuple):
                refuse(node.lineno, "only range loops are followed")
            yield from iterable
            return
        bounds = [self.value(arg) for arg in node.args]
        if all(isinstance(bound, int) for bound in bounds):
            if len(bounds) == 3 and bounds[2] == 0:
                refuse(node.lineno, "this loop's step is 0 here")
            yield from range(*bounds)
            return
        loop = Unknown.of("range", *bounds)
        start, step = (0, 1) if len(bounds) == 1 else (bounds[0], bounds[2] if len(bounds) == 3 else 1)
        # "Is there a trip" and "is this the first one" are asked outside of the head as well, and must agree with it.
        stop = bounds[0] if len(bounds) == 1 else bounds[1]
        if isinstance(start, int) and isinstance(step, int) and step > 0:
            self.number(stop, step)
            if (end := self.known(stop)) is not None:
                yield from range(start, end, step)
                return
        runs = Unknown.of(start, "<", stop)
        some = self.agreed.get(runs.key, self.outcome(runs))
        for trip in range(1 + loop.choice(self.world.seed, 4) if some else 0):
            if isinstance(start, int) and isinstance(step, int):
                yield start + trip * step
                continue
            value = Unknown.of(loop, "trip", trip) if trip else start
            if isinstance(value, Unknown):
                self.agreed[Unknown.of(start, "<", value).key] = trip > 0
            yield value

    def number(self, stop: object, step: int) -> None:
        """Takes an end that only memory knows to be some steps, the same in all tasks: other loops end with it, too."""
        match stop:
            case Unknown(parts=("min" | "max", *parts)):
                for part in parts:
                    self.number(part, step)
            case Unknown(key=key) if key not in self.numbers:
                some = self.outcome(Unknown.of(0, "<", stop))
                trips = (1 + stop.choice(self.world.seed, 4)) if some else 0
                self.numbers[key] = trips * step - (self.world.seed & 1 if trips and step > 1 else 0)

    def region(self, node: ast.With, call: ast.Call, body: list[ast.stmt]) -> None:
        """Follows `with tlx.async_tasks():` and its tasks."""
        if self.module.dotted(call.func) != "tlx.async_tasks":
            refuse(node.lineno, "only `with tlx.async_tasks():` is followed")
        if self.in_task:
            raise Misuse("nested-tasks", node.lineno, "regions of tasks cannot nest")
        self.close_stretch(node.lineno)
        agents: list[Agent] = []
        for child in self.tasks_of(body):
            agents += self.task(child)
        if sum(agent.default and agent.name.endswith(" 0") for agent in agents) != 1:
            raise Misuse("default-task", node.lineno, "a region needs exactly one default task")
        self.stretches.append(tuple(agents))

    def tasks_of(self, body: list[ast.stmt]) -> Iterator[ast.With]:
        """The task blocks of a region, also those under a compile-time condition."""
        for child in body:
            match child:
                case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))]) if (
                    self.module.dotted(func) == "tlx.async_task"
                ):
                    yield child
                case ast.If(test=test, body=then, orelse=orelse):
                    yield from self.tasks_of(then if self.truth(self.value(test), child.lineno) else orelse)
                case ast.Pass():
                    pass
                case _:
                    raise Misuse("statement-between-tasks", child.lineno, "only tasks may stand in a region of tasks")

    def task(self, node: ast.With) -> list[Agent]:
        """The agents of one task block, one per replica."""
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        options = {keyword.arg: self.value(keyword.value) for keyword in call.keywords}
        default = bool(call.args) and self.value(call.args[0]) == "default"
        warps = self.world.num_warps if default else options.get("num_warps")
        registers = options.get("registers", options.get("num_regs"))
        replicas = options.get("replicate", 1)
        if not isinstance(warps, int) or not isinstance(replicas, int):
            refuse(node.lineno, "warps and replicas of a task must be known")
        agents = []
        for replica in range(replicas):
            outer = dict(self.names)
            self.events, self.dots = [], 0
            self.replica, self.in_task = replica, True
            self.agent = f"{'default' if default else 'task'} at line {node.lineno}, replica {replica}"
            self.body(node.body)
            name = f"{'default' if default else f'task:{node.lineno}'} {replica}"
            limit = registers if isinstance(registers, int) else None
            agents.append(Agent(name, node.lineno, warps, limit, default, tuple(self.events)))
            self.names, self.events, self.replica, self.in_task = outer, [], None, False
        return agents

    def call(self, node: ast.Call) -> Any:
        """The value of a call, after noting what it does."""
        return calls.call(self, node)

    def touch(self, view: View, line: int, writes: bool, sources: frozenset[Buffer] = frozenset()) -> None:
        """Notes a read or write by the task's own threads."""
        self.emit(Access(line, view, writes, sources))


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _callee(module: Module, node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Name) and node.func.id not in module.aliases:
        return node.func.id
    return module.dotted(node.func)


def _defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Parameters with a default, and it."""
    positional = [*function.args.posonlyargs, *function.args.args]
    values = function.args.defaults
    for argument, value in zip(positional[len(positional) - len(values) :], values, strict=True):
        yield argument.arg, value
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default
