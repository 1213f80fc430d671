"""What each rule of TLX makes a small kernel answer: simulated on several schedules, compiled, run on a Hopper GPU.

python -m pytest -m gpu tests/tlx/test_behaviour.py     on a machine with a Hopper GPU and torch
"""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("triton")

import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx
from tests.tlx.behaviour import barriers, copies, products, tasks, views
from tests.tlx.behaviour.case import Described, array, has_memory
from tests.tlx.sim.launch import SCHEDULES, descriptor
from tlx.lowering import versions

#: what it warns of is what a case is about
OLD_VALUES = pytest.mark.filterwarnings(r"ignore:(?s).*had before async_tasks:UserWarning")
pytestmark = [pytest.mark.triton, OLD_VALUES]

CASES = {
    f"{module.__name__.rpartition('.')[2]}: {name}": case
    for module in (barriers, tasks, views, copies, products)
    for name, case in module.CASES.items()
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.threads])
def test_simulated(name, schedule):
    case = CASES[name]
    arguments = case.arguments()
    wanted = case.wanted(arguments)
    given = [descriptor(a.array, list(a.block)) if isinstance(a, Described) else a for a in arguments]
    options = {**case.constants, "num_warps": case.warps}
    tlx.sim.run(case.kernel, case.grid, given, options, schedule=schedule).raise_for_findings()
    for index, answer in wanted.items():
        case.check(index, array(arguments[index]), answer)


@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    case = CASES[name]
    if case.triton > versions.VERSION:
        pytest.skip(versions.too_old(name, ".".join(map(str, case.triton))))
    compiled = tlx.compile(case.kernel, case.signature, case.constants, num_warps=case.warps)
    assert compiled.facts.stack == 0


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", CASES)
def test_run(name):
    import torch

    case = CASES[name]
    if case.triton > versions.VERSION:
        pytest.skip(versions.too_old(name, ".".join(map(str, case.triton))))
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    arguments = case.arguments()
    wanted = case.wanted(arguments)
    tensors = [torch.from_numpy(array(a)).cuda() if has_memory(a) else a for a in arguments]
    given = [
        TensorDescriptor.from_tensor(tensor, list(argument.block)) if isinstance(argument, Described) else tensor
        for argument, tensor in zip(arguments, tensors, strict=True)
    ]
    case.kernel[case.grid](*given, **case.constants, num_warps=case.warps)
    torch.cuda.synchronize()
    for index, answer in wanted.items():
        case.check(index, tensors[index].cpu().numpy(), answer)
