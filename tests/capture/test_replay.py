"""From a record back to a launch: the same numbers where they are told, solved for where they are not, or a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verify.samples import CONTRACT
from tlxify.bench.sizes import sizes_of
from tlxify.capture.launches import KernelId, Launch, Tensor
from tlxify.capture.replay import Unreplayable, replay
from tlxify.capture.scale import scaled
from tlxify.contract import Contract, LaunchConfig, ScalarSpec, TensorSpec

KERNEL = KernelId("gemm", "m", "m.py", 1, "0")


def gemm(m=1000, n=520, k=2056, pad=0, warps=8, stages=3, tiles=(128, 64, 64), dtype="bf16", **changes):
    """A product with rows of A that are `pad` elements longer than needed."""
    scalars = {"M": m, "N": n, "K": k, "stride_am": k + pad, "stride_ak": 1, "stride_bk": n, "stride_bn": 1}
    scalars |= {"stride_cm": n, "stride_cn": 1, "ACTIVATION": "relu"}
    scalars |= dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tiles, strict=True))
    tensors = (
        Tensor("a_ptr", dtype, (m, k), (k + pad, 1), 16),
        Tensor("b_ptr", dtype, (k, n), (n, 1), 16),
        Tensor("c_ptr", dtype, (m, n), (n, 1), 16),
    )
    told = {"num_warps": warps, "num_stages": stages}
    grid = (-(-m // tiles[0]) * -(-n // tiles[1]),)
    launch = Launch(
        KERNEL, tensors, tuple(scalars.items()), frozenset(), grid, tuple(told.items()), (), "triton", 3, (10.0,)
    )
    return replace(launch, **changes)


def test_numbers_types_and_config_are_the_launchs_own():
    made = replay(CONTRACT, gemm(pad=8))
    sizes = sizes_of(made.contract, made.case)
    assert {each.spec.name: (each.dtype, each.shape, each.strides) for each in sizes.tensors} == {
        "a_ptr": ("bf16", (1000, 2056), (2064, 1)),
        "b_ptr": ("bf16", (2056, 520), (520, 1)),
        "c_ptr": ("bf16", (1000, 520), (520, 1)),
    }
    assert (made.case.config, made.contract.configs) == (0, CONTRACT.configs), "one of the contract's own"
    assert made.case.trips == 33
    assert dict(made.case.values)["ACTIVATION"] == "relu"


def test_a_config_that_the_contract_lacks_is_added():
    made = replay(CONTRACT, gemm(tiles=(64, 64, 64), warps=4, stages=5))
    tiles = (("BLOCK_M", 64), ("BLOCK_N", 64), ("BLOCK_K", 64))
    assert made.contract.configs == (*CONTRACT.configs, LaunchConfig(tiles, 4, 5))
    assert (made.case.config, made.pinned) == (2, True)


def test_alignment_and_overlap_become_layouts():
    a, b, c = gemm().tensors
    odd = replay(CONTRACT, gemm(tensors=(a, replace(b, alignment=2), c)))
    assert odd.case.layouts == (("b_ptr", "odd"),)
    same = replay(CONTRACT, gemm(overlaps=(("a_ptr", "c_ptr"),)))
    assert same.case.layouts == (("c_ptr", "overlap"),)


BATCHED = Contract(
    kernel="batched",
    parameters=("x_ptr", "y_ptr", "HEADS", "stride_xb"),
    tensors=(
        TensorSpec("x_ptr", ("outer_0", "HEADS", "8"), ("stride_xb", "8", "1"), True, False, "x"),
        TensorSpec("y_ptr", ("grid_0", "rows"), ("rows", "1"), False, True, "y"),
    ),
    scalars=(ScalarSpec("HEADS", "size"), ScalarSpec("stride_xb", "stride")),
    constexprs=(),
    configs=(LaunchConfig(()),),
    configs_known=True,
    grid=("outer_0 * HEADS",),
    free_sizes=("outer_0", "grid_0", "rows"),
)


def batched(y_shape=(12, 5), grid=(12,), **changes):
    tensors = (Tensor("x_ptr", "fp16", (3 * 4 * 8,), (1,), 16), Tensor("y_ptr", "fp16", y_shape, (5, 1), 16))
    scalars = (("HEADS", 4), ("stride_xb", 32))
    launch = Launch(KERNEL, tensors, scalars, frozenset(), grid, (), (), "triton", 1)
    return replace(launch, **changes)


def test_sizes_that_no_parameter_holds_are_solved_for():
    values = dict(replay(BATCHED, batched()).case.values)
    assert (values["outer_0"], values["grid_0"], values["rows"]) == (3, 12, 5)
    # By the number of elements, where the program passed the tensor in another shape.
    assert dict(replay(BATCHED, batched(y_shape=(60,))).case.values)["rows"] == 5


def test_axes_are_told_apart_by_their_strides():
    # The program has batches first, the contract heads: by position there would be 4 batches.
    x, y = BATCHED.tensors
    contract = replace(
        BATCHED, tensors=(replace(x, shape=("HEADS", "outer_0", "8"), strides=("8", "stride_xb", "1")), y)
    )
    launch = batched()
    launch = replace(launch, tensors=(Tensor("x_ptr", "fp16", (3, 4, 8), (32, 8, 1), 16), launch.tensors[1]))
    made = replay(contract, launch)
    assert dict(made.case.values)["outer_0"] == 3
    assert made.contract.grid == contract.grid


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        (batched(y_shape=(61,)), "rows cannot be told"),
        (batched(scalars=(("stride_xb", 32),)), "outer_0 cannot|no HEADS"),
        (batched(tensors=batched().tensors[:1]), "y_ptr was not passed"),
        (batched(scalars=(("HEADS", {"repr": "<object>"}), ("stride_xb", 32))), "HEADS is '<object>'"),
    ],
)
def test_what_the_record_does_not_tell_is_a_reason(launch, reason):
    with pytest.raises(Unreplayable, match=reason):
        replay(BATCHED, launch)


def test_scaling_down_keeps_what_decides():
    made = replay(CONTRACT, gemm(m=8000, n=4100, k=16392, pad=4))
    small = scaled(made.contract, made.case)
    sizes = sizes_of(made.contract, small)
    m, n, k = (dict(small.values)[name] for name in "MNK")
    assert (m % 128, n % 64, k % 64) == (8000 % 128, 4100 % 64, 16392 % 64)
    assert small.trips == 2 * 3 + 1 + 1, "every stage is filled and used again"
    assert m * n * k < 8000 * 4100 * 16392 // 1000
    strides = {each.spec.name: each.strides for each in sizes.tensors}
    assert strides["a_ptr"][0] % 8 == (16392 + 4) % 8 == 4, "as unaligned for the TMA as it was"
    assert strides["b_ptr"][0] % 64 == 4100 % 64
    assert strides["a_ptr"][0] >= k, "no two elements share memory"


def test_what_is_small_stays_as_it_is():
    made = replay(CONTRACT, gemm(m=128, n=64, k=64))
    assert scaled(made.contract, made.case) is made.case


def test_a_grid_of_the_programs_own_holds_and_is_not_made_smaller():
    made = replay(CONTRACT, gemm(m=128, n=64, k=64, grid=(3, 1)))
    assert sizes_of(made.contract, made.case).grid == (3, 1)
    assert made.pinned, "it need not fit another config's tiles"
    assert scaled(made.contract, made.case) is made.case
    large = replay(CONTRACT, gemm(m=8000, n=8000, k=16384, grid=(132,)))
    assert scaled(large.contract, large.case) is None, "one program has many tiles"


def test_launches_outside_of_the_contract_are_refused():
    values = tuple({**dict(gemm().scalars), "ACTIVATION": "gelu"}.items())
    with pytest.raises(Unreplayable, match="ACTIVATION = 'gelu', where the contract holds for"):
        replay(CONTRACT, gemm(scalars=values))
    computed = replace(CONTRACT, parameters=(*CONTRACT.parameters, "NT"), computed=(("NT", "cdiv(K, BLOCK_K)"),))
    scalars = dict(gemm().scalars)
    assert replay(computed, gemm(scalars=tuple({**scalars, "NT": 33}.items()))).case.trips == 33
    with pytest.raises(Unreplayable, match="NT = 34, where the contract computes 33"):
        replay(computed, gemm(scalars=tuple({**scalars, "NT": 34}.items())))
    without = replace(CONTRACT, tensors=CONTRACT.tensors[:2], absent=("c_ptr",))
    with pytest.raises(Unreplayable, match="c_ptr was passed"):
        replay(without, gemm())


def test_where_a_tuner_chose_the_grid_tells_among_which_configs():
    told = dict(gemm().scalars)
    bound = tuple((name, value) for name, value in told.items() if not name.startswith("BLOCK"))
    made = replay(CONTRACT, gemm(scalars=bound, options=(), via="tlx", grid=(16 * 9,)))
    assert (made.case.config, made.pinned) == (1, False), "1000 by 520 in tiles of 64"
    assert made.case.trips == 65, "of 32 elements"
    assert sizes_of(made.contract, made.case).grid == (144,)
