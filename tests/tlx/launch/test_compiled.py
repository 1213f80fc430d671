"""What the launcher hands to a kernel is what the kernel compiles with."""

import pytest
import triton
from triton._utils import canonicalize_dtype
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx
from tests.tlx.launch import gemm
from tests.tlx.launch.fakes import grid_of, operands
from tlx.launch.pointers import is_pointer
from tlx.launch.tuning import CTA_SHARED_BYTES

pytestmark = pytest.mark.triton


def compiled(found):
    """The converted kernel of a dispatch, compiled for the arguments and options the dispatch names."""
    signature, constants, divisible = {}, {}, []
    for parameter in found.kernel.params:
        value = found.kwargs[parameter.name]
        if parameter.is_constexpr or (value == 1 and not parameter.do_not_specialize):
            constants[parameter.name] = value
        elif isinstance(value, TensorDescriptor):
            box = ",".join(map(str, value.block_shape))
            signature[parameter.name] = f"tensordesc<{canonicalize_dtype(value.base.dtype)}[{box}]>"
        else:
            signature[parameter.name] = f"*{canonicalize_dtype(value.dtype)}" if is_pointer(value) else "i32"
            if is_pointer(value) or (value % 16 == 0 and not parameter.do_not_specialize):
                divisible.append(parameter.name)
    options = dict(found.options)
    warps = options.pop("num_warps")
    return tlx.compile(found.kernel, signature, constants, num_warps=warps, divisible_by_16=divisible, options=options)


@pytest.mark.parametrize(
    ("config", "transposed", "threads"),
    [
        ({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 9}, False, 384),
        ({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 3}, True, 256),
        ({"BLOCK_M": 64, "BLOCK_N": 256, "BLOCK_K": 32, "num_warps": 8, "num_stages": 4}, True, 384),
    ],
    ids=["2 x 4 warps", "1 x 4 warps", "1 x 8 warps"],
)
def test_every_kind_of_plan_compiles_within_its_budgets(config, transposed, threads):
    args = operands(M=1000, N=520, K=256)
    if transposed:
        args[8:10] = 1, 256
    found = gemm.bind().resolve(*args, grid=grid_of, config=config)
    assert found.path == "specialized", found.text
    kernel = compiled(found)
    facts = kernel.facts
    assert (kernel.num_warps * 32, facts.stack) == (threads, 0)
    assert kernel.shared <= CTA_SHARED_BYTES
    if found.plan.resident == 2:
        assert 2 * (kernel.shared + 1024) <= 233_472
        assert facts.registers * threads <= 32_768


def test_the_estimate_of_shared_memory_is_near_the_truth():
    config = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}
    found = gemm.bind().resolve(*operands(), grid=grid_of, config=config)
    assert found.plan.stages == 4
    estimate = 4 * 2 * 64 * (128 + 256) + 128 * 256 + 128
    assert abs(compiled(found).shared - estimate) <= 256


def test_sources_compile_with_what_a_fallback_gets():
    found = gemm.bind().resolve(*operands(K=0), grid=grid_of, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    assert found.code == "empty"
    assert isinstance(found.kernel, triton.JITFunction)
