"""Triton's code generator with the two things it lacks: layouts that follow control flow, and tasks.

A variable must leave a loop body or a branch in the layout in which it entered. So a loop that carries blocks and an
``if`` that assigns are generated once for nothing, to see in which layouts they leave their variables; the entering
values are converted to those, and the real bodies end in conversions that are no-ops in all but odd cases. Each level
of nesting multiplies the work, so nothing is generated in vain where no block can change its layout.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import triton.language as tl
from triton.compiler import code_generator
from triton.compiler.code_generator import CodeGenerator, _unwrap_if_constexpr
from triton.compiler.errors import CompilationError
from triton.language import str_to_ty

from ..builtin import TLXError, zeroed
from ..descriptors import tensor_descriptor_ptr
from ..storage import storage_alias_spec_type_class
from ..tasks import RegionSpec, TaskSpec, async_task, async_tasks
from ..types import _SharedValue
from . import stale, sums, tasks
from .descriptors import TensorDescriptor, adopt_type
from .layouts import preferred
from .pools import PooledBuffer
from .semantic import Task, TaskContext, TLXSemantic
from .state import current


def _is_block(value: Any) -> bool:
    return isinstance(value, code_generator.tensor) and value.type.is_block()


def _stored(*bodies: list[ast.stmt]) -> set[str]:
    """The names that statements assign to, at any depth."""
    nodes = (node for body in bodies for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


class TLXCodeGenerator(CodeGenerator):  # type: ignore[misc]
    """Generates one function."""

    lscope: dict[str, Any]
    local_defs: dict[str, Any]
    function: ast.FunctionDef

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        context = self.caller_context
        task = context.task if isinstance(context, TaskContext) else Task(self.builder.options.num_warps)
        self.semantic: Any = TLXSemantic(self.builder, task)
        self.semantic.around = self.scf_stack
        #: statement list being generated (by identity) → layouts in which its variables must end
        self.endings: dict[int, dict[str, Any]] = {}
        #: expression being generated (by identity) → what to do with its value
        self.outcomes: dict[int, Callable[[Any], Any]] = {}
        self.many_returns = False
        #: blocks of the enclosing task that the current one may not use
        self.out_of_reach: frozenset[str] = frozenset()
        #: where a variable is read that a task has assigned to, which is not seen there → the assignment
        self.stale: dict[tuple[str, int, int], ast.Name] = {}

    # ---- layouts through control flow -------------------------------------------------------------------------------

    def visit_compound_statement(self, stmts: Any) -> Any:
        """Stock, then the conversions this list has to end with."""
        super().visit_compound_statement(stmts)
        for name, layout in self.endings.get(id(stmts), {}).items():
            value: Any = self.lscope.get(name)
            if _is_block(value) and value.type.layout != layout and len(value.type.shape) == layout.rank:
                self.set_value(name, self.semantic.to_layout(value, layout))

    @contextmanager
    def _rehearsal(self) -> Iterator[None]:
        """A block that is thrown away, with the scope put back as it was."""
        self.lay_out_pools()
        lscope, local_defs = self.lscope.copy(), self.local_defs.copy()
        places = [value for value in lscope.values() if isinstance(value, tensor_descriptor_ptr)]
        made = [dict(place.made) for place in places]
        ip, loc = self._get_insertion_point_and_loc()
        block = self.builder.create_block()
        self.builder.set_insertion_point_to_start(block)
        try:
            yield
        finally:
            block.erase()
            self._set_insertion_point_and_loc(ip, loc)
            self.lscope, self.local_defs = lscope, local_defs
            for place, before in zip(places, made, strict=True):
                place.made.clear()
                place.made.update(before)

    def lay_out_pools(self) -> None:
        """Allocates the pools of this function before control flow: afterwards, and in all branches, they are there."""
        for pool in current().pools:
            if pool.semantic is self.semantic:
                pool.lay_out()
        for name, value in self.lscope.items():
            if isinstance(value, PooledBuffer) and value.pool.views is not None:
                # From here on a buffer like any other, which loops may carry.
                self.lscope[name] = value.pool.resolved(value)

    def _blocks(self, scope: dict[str, Any]) -> dict[str, Any]:
        return {name: value.type.layout for name, value in scope.items() if _is_block(value)}

    def _rehearse(self, body: list[ast.stmt]) -> dict[str, Any]:
        """Layouts of all block variables after ``body``."""
        with self._rehearsal():
            CodeGenerator.visit_compound_statement(self, body)
            return self._blocks(self.lscope)

    def _carries_blocks(self, node: ast.For | ast.While) -> bool:
        """Whether a block may go from turn to turn: it is there before the loop, and assigned in it."""
        return not _stored(node.body).isdisjoint(self._blocks(self.lscope))

    def _leaving(self, node: ast.For | ast.While) -> dict[str, Any]:
        self.scf_stack.append(node)
        layouts = self._rehearse(node.body)
        self.scf_stack.pop()
        return layouts

    @contextmanager
    def _settled(self, bodies: list[list[ast.stmt]], *ends: dict[str, Any]) -> Iterator[None]:
        """Converts the blocks in scope to the layouts that ``ends`` want for them, and lets ``bodies`` end in those."""
        layouts = self._blocks(self.lscope)
        for end in ends:
            for name, layout in end.items():
                known = layouts.get(name)
                # A variable may change its rank where it is not carried; then the later one counts.
                layouts[name] = layout if known is None or known.rank != layout.rank else preferred(known, layout)
        for name, layout in self._blocks(self.lscope).items():
            if layouts[name] != layout and layouts[name].rank == layout.rank:
                self.set_value(name, self.semantic.to_layout(self.lscope[name], layouts[name]))
        for body in bodies:
            self.endings[id(body)] = layouts
        try:
            yield
        finally:
            for body in bodies:
                self.endings.pop(id(body), None)

    def visit_For(self, node: ast.For) -> None:
        """Stock, with settled layouts."""
        if not isinstance(node.iter, ast.Call):
            raise self.error(node, "kernels loop over range, tl.range or tl.static_range")
        if not isinstance(node.target, ast.Name):
            raise self.error(node, "a loop of a kernel counts in one name")
        # An unrolled body carries nothing from turn to turn.
        if self.visit(node.iter.func) is code_generator.language.static_range:
            super().visit_For(node)
            return
        self.lay_out_pools()
        if not self._carries_blocks(node):
            super().visit_For(node)
            return
        # The rehearsal needs some value of the induction variable, of the type that it will have.
        name, scope = node.target.id, self.lscope.copy()
        dtype = self._induction_type(node.iter)
        self.lscope[name] = self.semantic.tensor(self.builder.create_poison(dtype.to_ir(self.builder)), dtype)
        layouts = self._leaving(node)
        self.lscope = scope
        with self._settled([node.body], layouts):
            super().visit_For(node)

    def _induction_type(self, call: ast.Call) -> Any:
        bounds = [*call.args, *(word.value for word in call.keywords if word.arg in ("arg1", "arg2", "step"))]
        with self._rehearsal():
            values = [_unwrap_if_constexpr(self.visit(bound)) for bound in bounds]
            types = [self.semantic.to_tensor(value).dtype for value in values if value is not None]
        return functools.reduce(self.semantic.integer_promote_impl, types)

    def _verify_loop_carried_variable(self, name: str, loop_val: Any, live_val: Any) -> None:
        """Stock, and for buffers and barriers too: two kinds may be one type in the IR."""
        super()._verify_loop_carried_variable(name, loop_val, live_val)
        if isinstance(live_val, _SharedValue | code_generator.language.tuple) and loop_val.type != live_val.type:
            raise TLXError(f"{name} is {live_val.type} before the loop and {loop_val.type} after a turn of it")

    def visit_While(self, node: ast.While) -> None:
        """Stock, with settled layouts."""
        self.lay_out_pools()
        if not self._carries_blocks(node):
            super().visit_While(node)
            return
        with self._settled([node.body], self._leaving(node)):
            super().visit_While(node)

    def visit_if_scf(self, cond: Any, node: ast.If) -> None:
        """Stock, with settled layouts."""
        self.lay_out_pools()
        if not _stored(node.body, node.orelse):
            super().visit_if_scf(cond, node)
            return
        ends = [self._rehearse(body) for body in (node.body, node.orelse) if body]
        with self._settled([node.body, node.orelse], *ends):
            super().visit_if_scf(cond, node)

    def visit_if_top_level(self, cond: Any, node: ast.If) -> None:
        """Stock; a branch that returns cannot be rehearsed, so what both leave behind ends as it entered."""
        self.lay_out_pools()
        with self._settled([node.body, node.orelse]):
            super().visit_if_top_level(cond, node)

    def visit(self, node: ast.AST) -> Any:
        """Stock, then the conversion this expression has to end with; errors name their file."""
        try:
            value = super().visit(node)
        except CompilationError as error:
            # The first generator that sees an error is the one whose source it is about.
            if not hasattr(error, "located"):
                error.located = True
                # Triton quotes Python's own errors.
                reason = error.__cause__ or error.__context__
                if reason is not None and str(reason):
                    error.message = error.message.replace(repr(reason), str(reason))
                line = self.begin_line + getattr(error.node, "lineno", 1)
                error.message = f"{self.file_name}:{line}\n{error.message}"
            raise
        if isinstance(value, RegionSpec | TaskSpec):
            raise self.error(node, "async_tasks and async_task do nothing by themselves: open them in a with statement")
        outcome = self.outcomes.get(id(node))
        return value if outcome is None else outcome(value)

    @contextmanager
    def _outcome(self, nodes: list[ast.expr], convert: Callable[[Any], Any]) -> Iterator[None]:
        self.outcomes.update({id(node): convert for node in nodes})
        try:
            yield
        finally:
            for node in nodes:
                del self.outcomes[id(node)]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Stock; the arms of a run-time choice end in one layout."""
        arms = [node.body, node.orelse]
        with self._rehearsal():
            # A constexpr condition must leave the other arm unseen: it need not even compile.
            dynamic = isinstance(self.visit(node.test), code_generator.tensor)
            layouts = [value.type.layout for value in map(self.visit, arms) if _is_block(value)] if dynamic else []
        if len(layouts) < 2:
            return super().visit_IfExp(node)
        meet = preferred(*layouts)
        with self._outcome(arms, lambda value: self.semantic.to_layout(value, meet)):
            return super().visit_IfExp(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Stock."""
        self.function = node
        if self.is_kernel:
            current().kernel = self.function_name
            current().has_region = any(
                isinstance(inner, ast.With) and self.opened(inner) is async_tasks for inner in ast.walk(node)
            )
        self.many_returns = sum(isinstance(inner, ast.Return) for inner in ast.walk(node)) > 1
        super().visit_FunctionDef(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Stock; several returns of one function end in one layout."""
        if node.value is None or not self.many_returns:
            super().visit_Return(node)
            return
        with self._outcome([node.value], self._in_default):
            super().visit_Return(node)

    def _in_default(self, value: Any) -> Any:
        if isinstance(value, code_generator.language.tuple):
            return code_generator._apply_to_tuple_values(value, self._in_default)
        return self.semantic.to_default(value) if _is_block(value) else value

    def set_value(self, name: str, value: Any) -> None:
        """Stock; a descriptor that is an argument of the kernel remembers which."""
        if isinstance(value, TensorDescriptor) and value.type.parameter is None and self.is_kernel:
            value.type.parameter = self._argument(value.handle)
        super().set_value(name, value)

    def _argument(self, handle: Any) -> int | None:
        if self.fn is None:
            return None
        positions = range(self.fn.get_num_args())
        return next((index for index in positions if self.fn.args(index).id() == handle.id()), None)

    # ---- tasks ------------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        """Stock, but a block of another task gets its own message, and an old value a warning."""
        if isinstance(node.ctx, ast.Load):
            origin = self.stale.get((node.id, node.lineno, node.col_offset))
            if origin is not None:
                stale.tell(str(self.file_name), self.begin_line, node, origin)
        if isinstance(node.ctx, ast.Load) and node.id in self.out_of_reach and node.id not in self.lscope:
            raise self.error(
                node,
                f"{node.id} is a block of values held by the warps outside this task; only scalars, pointers, buffers, "
                "barriers and descriptors can be used in a non-default task: compute it inside, or pass it through "
                "shared memory",
            )
        return super().visit_Name(node)

    def visit_With(self, node: ast.With) -> Any:
        """``async_tasks`` and ``async_task``; any other context is stock."""
        opened = self.opened(node)
        if opened is async_tasks:
            spec = self.evaluate(node)
            assert isinstance(spec, RegionSpec)
            tasks.generate_region(self, node, spec)
            return None
        if opened is async_task:
            raise self.error(node, "async_task must stand directly inside async_tasks")
        return super().visit_With(node)

    def opened(self, node: ast.With) -> Any:
        """The context manager a ``with`` opens, before its arguments are looked at."""
        call = node.items[0].context_expr
        return self.visit(call.func) if isinstance(call, ast.Call) else None

    def evaluate(self, node: ast.With) -> Any:
        """The specification object of a ``with tlx....(...)``."""
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise self.error(node, "async_tasks and async_task stand alone in their with statement, without `as`")
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        return self.visit_Call(call)

    def error(self, node: ast.AST, message: str) -> CompilationError:
        """An error at the user's line."""
        return CompilationError(self.jit_fn.src, node, message)


def _rebound(function: Any) -> Any:
    """The same function, but in a world where the class ``CodeGenerator`` is ours and descriptors are ours."""
    world = {
        **vars(code_generator),
        "CodeGenerator": TLXCodeGenerator,
        "str_to_ty": lambda name, const: adopt_type(str_to_ty(name, const)),
    }
    twin = types.FunctionType(function.__code__, world, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


_call_helper = _rebound(CodeGenerator.call_JitFunction)


def _handed(value: Any) -> Iterator[Any]:
    """What is in an argument of a helper."""
    if isinstance(value, list | tuple | code_generator.language.tuple):
        for part in value:
            yield from _handed(part)
    else:
        yield value


def _call(self: TLXCodeGenerator, fn: Any, *rest: Any, **words: Any) -> Any:
    """Stock, but long rows are summed in our own way, and pools whose members a helper gets are there before it."""
    for value in _handed([*rest, *words.values()]):
        if isinstance(value, PooledBuffer):
            value.pool.lay_out()
        if isinstance(value, storage_alias_spec_type_class):
            raise TLXError("a storage_alias_spec stays in the function that made it: give helpers the buffers instead")
    made = _call_helper(self, sums.combination(fn) if self.semantic.long_rows else fn, *rest, **words)
    # Triton's own helpers, in which these blocks are made out of our sight.
    return zeroed(made) if fn in (tl.zeros, tl.zeros_like) else made


TLXCodeGenerator.call_JitFunction = _call
ast_to_module = _rebound(code_generator.ast_to_ttir)
