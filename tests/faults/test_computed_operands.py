"""Second operands that a role computes: what it writes and frees is ordered, or the simulator finds that it is not."""

from __future__ import annotations

import re

import pytest

from tests.faults.trying import INT8, broken, converted, dispatched, product, sound, tensor, text_of

pytestmark = pytest.mark.triton

FENCE = r"tlx\.fence_async_shared\(\)\n +"


def part(kernel, pattern: str) -> str:
    """The one piece of the converted kernel that looks like this."""
    (found,) = re.findall(pattern, text_of(kernel))
    return found


@pytest.fixture(scope="module")
def kernel():
    found = converted("weights_in_bytes")
    sound(found)
    return found


def test_the_block_is_fenced_before_the_dot_reads_it(kernel):
    fenced = part(kernel, FENCE + r"tlx\.barrier_arrive\(operand_full\[operand_slot\]\)")
    assert "missing-fence" in broken(kernel, fenced, "tlx.barrier_arrive(operand_full[operand_slot])")


def test_the_raw_tile_is_fenced_before_its_slot_is_freed(kernel):
    fenced = part(kernel, FENCE + r"tlx\.barrier_arrive\(b_empty\[b_slot\]\)")
    assert "missing-fence" in broken(kernel, fenced, "tlx.barrier_arrive(b_empty[b_slot])")


def test_the_raw_slot_is_not_freed_before_it_is_read(kernel):
    read = part(
        kernel, r"b = tlx\.local_load\(b_ring\[b_slot\]\)\n +" + FENCE + r"tlx\.barrier_arrive\(b_empty\[b_slot\]\)"
    )
    load, *rest = read.split("\n")
    early = "\n".join([*(line.strip() for line in rest), load])
    space = re.search(r"\n( +)", read)[1]
    assert broken(kernel, read, early.replace("\n", f"\n{space}")) & {"race", "write-after-read", "overwritten"}


def test_the_role_waits_for_the_raw_tile(kernel):
    wait = part(kernel, r"tlx\.barrier_wait\(b_full\[b_slot\], [^\n]*\)\n")
    assert broken(kernel, wait, "pass\n")


def test_the_role_waits_until_the_consumers_have_freed_a_block(kernel):
    wait = part(kernel, r"tlx\.barrier_wait\(\s*operand_empty\[operand_slot\], [^\n]*\^ 1\s*\)\n")
    assert broken(kernel, wait, "pass\n")


def test_the_consumers_free_a_block_behind_its_dot(kernel):
    lines = (
        r"acc = tlx\.async_dot\([^\n]*",
        r"acc = tlx\.async_dot_wait[^\n]*",
        r"tlx\.barrier_arrive\(operand_empty[^\n]*",
    )
    text = part(kernel, r"\n +".join(lines) + "\n")
    dot, wait, arrive, _ = (line.strip() for line in text.split("\n"))
    space = re.search(r"\n( +)", text)[1]
    assert broken(kernel, text, f"\n{space}".join([dot, arrive, wait]) + "\n")


def test_a_launch_has_memory_and_registers_for_the_role():
    given = {**product(512, 512, 256), "b_ptr": tensor(1, INT8), "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    found = dispatched("weights_in_bytes", given)
    assert found.path == "specialized", found.text
    plan = found.plan
    assert plan.boxes["operand_ring"].like == "a_desc"
    stage = (64 * 64 + 64 * 64) * 2 + 64 * 64
    assert plan.deepest == (232_448 - 64 * 64) // (stage + 16)
    assert 128 * (plan.consumer_registers + plan.transform_registers + 40) <= 65_536
    assert plan.transform_registers % 8 == 0


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(("rows", "columns"), [(64, 64), (128, 128), (128, 256), (256, 128)])
def test_the_register_file_is_not_overdrawn(rows, columns, warps):
    given = {**product(512, 512, 256), "b_ptr": tensor(1, INT8), "BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64}
    found = dispatched("weights_in_bytes", given, num_warps=warps)
    if found.path == "original":
        assert found.code == "registers"
        return
    plan = found.plan
    groups = plan.consumers * plan.consumer_warps // 4
    assert groups * plan.consumer_registers + plan.transform_registers + 40 <= 65_536 // 128 // (
        groups + 2
    ) // 8 * 8 * (groups + 2)
