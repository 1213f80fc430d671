"""The protocol check on whole hand-written kernels: no false alarm, and no fault goes by."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tlxify.verify.protocol import World, check_protocol

KERNELS = Path(__file__).parents[1] / "tlx" / "kernels"
TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "M": 300, "N": 200}


def gemm_worlds():
    for stages, transposed, store in product((2, 3), (False, True), (False, True)):
        for trips, programs in product((1, stages - 1, stages + 1, 2 * stages + 1), (1, 4)):
            flags = {"A_IS_KM": transposed, "B_IS_NK": not transposed, "TMA_STORE": store, "ACTIVATION": ""}
            sizes = {"K": trips * 64 - 5, "STAGES": stages, "PROGRAMS": programs, "tiles": 6}
            groups = {"CONSUMERS": 2, "CONSUMER_WARPS": 4, "CONSUMER_REGISTERS": 232, "PRODUCER_REGISTERS": 40}
            yield World({**TILES, **flags, **sizes, **groups}, num_programs=(programs, 1, 1))


def attention_worlds():
    for stages in (1, 2, 3):
        for trips in (1, stages, stages + 1, 2 * stages + 1):
            tiles = {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD": 64, "GROUPS": 2}
            yield World({**tiles, "STAGES": stages, "N_CTX": 64 * trips})


SUBJECTS = {
    "gemm_ws": gemm_worlds,
    "gemm_persistent": gemm_worlds,
    "gemm_default_consumers": gemm_worlds,
    "attention_ws": attention_worlds,
}


def findings(name: str, text: str):
    return [item for item in check_protocol(text, f"{name}.py", SUBJECTS[name]()) if not item.ok]


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_sound_kernel_is_proved(name):
    assert findings(name, (KERNELS / f"{name}.py").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_wait_or_arrive_can_be_left_out(name):
    """Each barrier statement of each kernel is needed, and its absence is seen."""
    lines = (KERNELS / f"{name}.py").read_text(encoding="utf-8").splitlines(keepends=True)
    calls = ("tlx.barrier_wait(", "tlx.barrier_arrive(", "tlx.barrier_expect_bytes(")
    places = [number for number, line in enumerate(lines) if line.strip().startswith(calls)]
    assert places
    for number in places:
        indentation = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        changed = [*lines[:number], f"{indentation}pass\n", *lines[number + 1 :]]
        assert findings(name, "".join(changed)), f"{name}.py:{number + 1} {lines[number].strip()}"
