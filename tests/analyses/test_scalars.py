"""Scalars read from memory: how long their memory is, and values on both sides of what they decide."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tests.golden import CASES, read
from tlxify import convert
from tlxify.analyses.scalars import Scalars
from tlxify.contract import Contract
from tlxify.source import SourceFile


def contract_of(source: str) -> Contract:
    (kernel,) = convert(SourceFile("kernel.py", source)).kernels
    assert kernel.contract is not None, [diagnostic.message for diagnostic in kernel.diagnostics]
    return kernel.contract


def case(name: str) -> str:
    return read(CASES / "control" / f"{name}.py").source


#: Case → parameter, its shape and its values.
KNOWN = {
    "return_on_loaded": ("tiles_ptr", "1", ("0", "cdiv(M, BLOCK_M) - 1", "cdiv(M, BLOCK_M)")),
    "return_after_store": ("experts_ptr", "cdiv(M, BLOCK_M)", ("-2", "-1", "0")),
    "dot_under_elif": ("kinds_ptr", "cdiv(M, BLOCK_M)", ("-1", "0", "1", "2")),
    "dot_under_if": ("used_ptr", "cdiv(M, BLOCK_M)", ("-1", "0", "1")),
    "loaded_bound": ("trips_ptr", "cdiv(M, BLOCK_M)", ("0", "1", "cdiv(K, BLOCK_K)")),
    "if_in_tile_loop": ("used_ptr", "cdiv(M, BLOCK_M)", ("-1", "0", "1")),
}


@pytest.mark.parametrize(("name", "expected"), KNOWN.items(), ids=KNOWN)
def test_memory_and_values(name, expected):
    parameter, shape, values = expected
    spec = next(spec for spec in contract_of(case(name)).tensors if spec.name == parameter)
    assert (spec.shape, spec.strides, spec.dtypes) == ((shape,), ("1",), ("i32",))
    assert spec.values == values


def test_a_kernel_that_sends_programs_away_is_launched_with_too_many():
    assert contract_of(case("return_on_program_id")).grid == ("cdiv(M, BLOCK_M) + 1", "cdiv(N, BLOCK_N)")
    assert contract_of(case("return_on_loaded")).grid == ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)")


def test_a_loaded_index_tells_as_many_things_apart_as_there_are():
    facts = facts_of(
        """
        g = tl.load(c_ptr + pid)
        x = tl.load(a_ptr + g * sb + i[:, None] * sm + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K))
        """
    )
    scalars = Scalars(facts, {})
    spec = scalars.spec("c_ptr")
    assert spec is not None
    assert (spec.shape, spec.values) == (("grid_0",), ("0", "count_c_ptr - 1"))
    (access,) = (access for _, access in facts.accesses)
    assert scalars.upper(access.dimensions[0].coordinate) == "count_c_ptr - 1"
    assert {"grid_0", "count_c_ptr"} == set(scalars.free)


def test_a_scalar_that_moves_rows_is_not_guessed():
    moved = case("return_on_loaded").replace("rows = pid_m * BLOCK_M", "rows = tiles + pid_m * BLOCK_M")
    (kernel,) = convert(SourceFile("kernel.py", moved)).kernels
    assert [diagnostic.code for diagnostic in kernel.diagnostics] == ["TLX606"]
