"""The test of the simulator: break a right kernel in every small way there is, and each break must be noticed."""

import ast
import importlib.util
import inspect

import numpy as np
import pytest

import tlx

from ..kernels import gemm_ws as module
from .launch import descriptor, padded

SOURCE = inspect.getsource(module)


def calls(tree, name):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


def statements(tree):
    for node in ast.walk(tree):
        for block in ("body", "orelse"):
            body = getattr(node, block, None)
            if isinstance(body, list):
                for statement in body:
                    yield body, statement


def delete_calls(name):
    count = len([s for _, s in statements(ast.parse(SOURCE)) if isinstance(s, ast.Expr) and is_call(s.value, name)])
    for index in range(count):
        tree = ast.parse(SOURCE)
        hits = [(b, s) for b, s in statements(tree) if isinstance(s, ast.Expr) and is_call(s.value, name)]
        body, statement = hits[index]
        body[body.index(statement)] = ast.copy_location(ast.Pass(), statement)
        yield f"delete {name} #{index}", tree


def is_call(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def change_argument(name, position, what, change):
    for index in range(len(calls(ast.parse(SOURCE), name))):
        tree = ast.parse(SOURCE)
        call = calls(tree, name)[index]
        call.args[position] = change(call.args[position])
        yield f"{what} of {name} #{index}", tree


def binary(op, number):
    return lambda node: ast.BinOp(node, op(), ast.Constant(number))


def shifted_slot(node):
    """``ring[i]`` → ``ring[(i + 1) % 3]``, for rings that have at least three slots."""
    return ast.Subscript(
        node.value, ast.BinOp(ast.BinOp(node.slice, ast.Add(), ast.Constant(1)), ast.Mod(), ast.Constant(3))
    )


def without_dot_wait():
    for index in range(len(calls(ast.parse(SOURCE), "async_dot_wait"))):
        tree = ast.parse(SOURCE)
        call = calls(tree, "async_dot_wait")[index]
        for body, statement in statements(tree):
            if isinstance(statement, ast.Assign) and statement.value is call:
                body[body.index(statement)] = ast.copy_location(ast.Pass(), statement)
        yield f"delete async_dot_wait #{index}", tree


def mutants():
    for name in ("barrier_wait", "barrier_arrive", "barrier_expect_bytes", "async_descriptor_load"):
        yield from delete_calls(name)
    yield from without_dot_wait()
    yield from change_argument("barrier_wait", 1, "flip phase", binary(ast.BitXor, 1))
    yield from change_argument("barrier_expect_bytes", 1, "double bytes", binary(ast.Mult, 2))
    yield from change_argument("barrier_expect_bytes", 1, "halve bytes", binary(ast.FloorDiv, 2))
    yield from change_argument("async_dot_wait", 0, "weaken", binary(ast.Add, 1))
    for name in ("barrier_wait", "barrier_arrive", "barrier_expect_bytes"):
        yield from change_argument(name, 0, "shift slot", shifted_slot)
    yield from change_argument("async_descriptor_load", 1, "shift slot", shifted_slot)
    yield from change_argument("async_descriptor_load", 3, "shift barrier", shifted_slot)
    yield from change_argument("async_dot", 0, "shift slot", shifted_slot)
    yield from change_argument("async_dot", 1, "shift slot", shifted_slot)


MUTANTS = dict(mutants())


def load(name, tree, folder):
    path = folder / "mutant.py"
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    spec = importlib.util.spec_from_file_location(f"mutant_{abs(hash(name))}", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.gemm_ws


def survives(kernel, schedule):
    """Whether a run of more k-tiles than twice the ring finds nothing and has the right result."""
    rng = np.random.default_rng(0)
    a, b = padded(rng, 32, 7 * 16), padded(rng, 7 * 16, 16)
    c = np.full((32, 16), np.nan, np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, 32, 16, 7 * 16, 16, 1)
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "ACTIVATION": "", "STAGES": 3}
    try:
        report = tlx.sim.run(kernel, (1,), args, constants, schedule=schedule)
    except tlx.sim.SimulationError:
        return False
    return report.ok and np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=4e-3)


def test_the_original_survives(tmp_path):
    kernel = load("original", ast.parse(SOURCE), tmp_path)
    assert all(survives(kernel, schedule) for schedule in ("late", "eager", 0, 1))


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("schedule", ["late", "eager", 0])
def test_mutants_die(name, schedule, tmp_path):
    kernel = load(name, MUTANTS[name], tmp_path)
    assert not survives(kernel, schedule)
