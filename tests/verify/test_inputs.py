"""Which launches are tried, and what memory they get."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from tlxify.contract import ScalarSpec, TensorSpec
from tlxify.verify import dtypes
from tlxify.verify.buffers import Inapplicable, make_arguments
from tlxify.verify.cases import Case
from tlxify.verify.inputs import edge_cases
from tlxify.verify.sizing import small_tiles
from tlxify.verify.strategies import cases as drawn_cases

from . import samples

CASES = edge_cases(samples.CONTRACT)
NAMES = {case.name for case in CASES}


def case_named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def test_all_trip_counts_around_the_ring_are_tried():
    for config, stages in ((0, 3), (1, 4)):
        trips = {case.trips for case in CASES if case.config == config and case.tiles}
        assert trips >= {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}


def test_sizes_off_by_one_around_each_tile_are_tried():
    tiles = dict(small_tiles(samples.CONTRACT, 0))
    for size, tile in samples.CONTRACT.tiled:
        extents = {dict(case.values)[size] for case in CASES if case.name.startswith("sizes")}
        step = tiles[tile]
        assert extents == {step - 1, step + 1, 2 * step - 1, 2 * step + 1, 1}


def test_every_config_runs_with_its_own_tiles():
    assert {case.config for case in CASES if not case.tiles} == {0, 1}


def test_fallbacks_and_special_data_are_tried():
    assert {"M = 0", "N = 0", "K = 0", "a_ptr odd", "b_ptr odd", "c_ptr overlap"} <= NAMES
    assert {"ones data", "special data", "denormal data", "large data", "dtype 1"} <= NAMES
    assert {"a_ptr transposed", "b_ptr transposed", "all transposed, padded", "contiguous"} <= NAMES
    assert "ACTIVATION = 'relu'" in NAMES


def test_a_size_that_a_config_sets_is_never_another():
    """The launcher sees what the config says: no launch of it has a depth of 0."""
    config = replace(samples.CONTRACT.configs[0], values=(*samples.CONTRACT.configs[0].values, ("K", 64)))
    fixed = edge_cases(replace(samples.CONTRACT, configs=(config,), tuned=("K",)))
    assert "K = 0" in NAMES
    assert {"M = 0", "N = 0"} <= {case.name for case in fixed}
    assert not [case for case in fixed if case.zeroed == "K" or (case.path == "original" and "K = " in case.name)]


def test_equal_launches_get_equal_inputs_in_different_memory():
    case = case_named("2 trips")
    first, second = make_arguments(samples.CONTRACT, case, 0), make_arguments(samples.CONTRACT, case, 1)
    for name in ("a_ptr", "b_ptr"):
        assert (first.tensors[name].array == second.tensors[name].array).all()
        assert not np.shares_memory(first.tensors[name].owner, second.tensors[name].owner)
    outputs = first.tensors["c_ptr"], second.tensors["c_ptr"]
    assert (outputs[0].pattern != outputs[1].pattern).all()  # the poison differs
    assert all(output.unwritten().all() for output in outputs)
    assert (first.tensors["a_ptr"].array != first.tensors["b_ptr"].array[:, :1].T).any()


@pytest.mark.parametrize("layout", ["rows", "padded", "columns", "padded-columns", "odd"])
def test_writes_around_a_tensor_are_noticed(layout):
    case = replace(case_named("2 trips"), layouts=(("c_ptr", layout), ("a_ptr", layout)))
    arguments = make_arguments(samples.CONTRACT, case, 0)
    output, operand = arguments.tensors["c_ptr"], arguments.tensors["a_ptr"]
    output.array[...] = 1.0
    assert output.damaged() is None
    assert not output.unwritten().any()
    outside = np.flatnonzero(~output.mine)
    output.owner[outside[len(outside) // 2]] = 1.0
    assert "around c_ptr" in output.damaged()
    operand.array[0, 0] += 1
    assert "input a_ptr" in operand.damaged()


def test_strides_follow_the_layout():
    case = replace(case_named("contiguous"), layouts=(("a_ptr", "columns"),))
    arguments = make_arguments(samples.CONTRACT, case, 0)
    m, k = (dict(case.values)[size] for size in ("M", "K"))
    assert arguments.scalars["stride_am"] == 1
    assert arguments.scalars["stride_ak"] == m
    assert arguments.scalars["stride_bk"] == dict(case.values)["N"]
    assert arguments.tensors["a_ptr"].array.shape == (m, k)
    assert arguments.grid == (4,)


def test_an_overlapping_output_shares_memory():
    arguments = make_arguments(samples.CONTRACT, case_named("c_ptr overlap"), 0)
    assert np.shares_memory(arguments.tensors["c_ptr"].array, arguments.tensors["a_ptr"].array)


def test_a_contract_may_fix_strides_and_have_a_batch():
    tensors = (
        TensorSpec("x_ptr", ("B", "M", "K"), ("M * K", "K", "1"), True, False, "x"),
        TensorSpec("y_ptr", ("B", "M"), ("stride_y", "1"), False, True, "x"),
    )
    scalars = (*(ScalarSpec(name, "size") for name in "MK"), ScalarSpec("stride_y", "stride"))
    contract = replace(
        samples.CONTRACT,
        tensors=tensors,
        scalars=scalars,
        free_sizes=("B",),
        grid=("cdiv(M, BLOCK_M)", "B"),
        tiled=(("M", "BLOCK_M"),),
    )
    for case in edge_cases(contract):
        if case.layout("x_ptr") in ("padded", "rows") and "columns" not in case.layout("y_ptr"):
            arguments = make_arguments(contract, case, 0)
            assert arguments.tensors["x_ptr"].array.flags.c_contiguous or not arguments.tensors["x_ptr"].array.size
            assert arguments.grid[1] == (3 if case.name == "many programs" else 2)
            assert "B" not in arguments.scalars
    assert not make_arguments(contract, next(case for case in edge_cases(contract) if case.layouts), 0).faithful


def test_drawn_launches_are_valid():
    from hypothesis import given, settings

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(drawn_cases(samples.CONTRACT))
    def check(case: Case) -> None:
        arguments = make_arguments(samples.CONTRACT, case, 0)
        assert all(extent > 0 for extent in arguments.grid)
        assert case.trips >= 1

    check()


def test_bf16_needs_no_ml_dtypes(monkeypatch):
    values = np.array([1.0, -2.5, 3.14159, 1e-3, np.inf, np.nan, 65280.0])
    expected = dtypes.encode(values, "bf16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    plain = dtypes.encode(values, "bf16")
    assert plain.dtype == np.uint16
    numbers = ~np.isnan(values)
    assert (plain[numbers] == expected.view(np.uint16)[numbers]).all()
    assert (dtypes.decode(plain, "bf16")[numbers] == expected.astype(np.float64)[numbers]).all()
    assert np.isnan(dtypes.decode(plain, "bf16")[~numbers]).all()
    with pytest.raises(TypeError, match="needs ml_dtypes"):
        dtypes.storage("fp8e5")


def test_a_size_named_after_a_grid_axis_follows_the_grid():
    tensors = (*samples.CONTRACT.tensors, TensorSpec("sums_ptr", ("grid_0", "N"), ("N", "1"), False, True, "result"))
    contract = replace(samples.CONTRACT, tensors=tensors, free_sizes=("grid_0",))
    for case in edge_cases(contract):
        if "N = 0" not in case.name and "M = 0" not in case.name:
            arguments = make_arguments(contract, case, 0)
            assert arguments.tensors["sums_ptr"].array.shape[0] == arguments.grid[0]


def test_scalars_that_decide_take_their_values_and_no_others():
    counts = TensorSpec("counts_ptr", ("M",), ("1",), True, False, "counts", ("i32",), ("0", "M", "M + 1"))
    contract = replace(samples.CONTRACT, tensors=(*samples.CONTRACT.tensors, counts))
    case = case_named("4 trips")
    size = dict(case.values)["M"]
    assert set(make_arguments(contract, case, 0).tensors["counts_ptr"].array.tolist()) == {0, size, size + 1}


def test_an_output_whose_elements_share_memory_is_no_launch():
    tensors = tuple(
        replace(spec, strides=("1", "1")) if spec.name == "c_ptr" else spec for spec in samples.CONTRACT.tensors
    )
    with pytest.raises(Inapplicable, match="c_ptr share memory"):
        make_arguments(replace(samples.CONTRACT, tensors=tensors), case_named("4 trips"), 0)
