"""Which configs of ours are tried, and what keeps them out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tlxify.config import ConfigError, tiles_of
from tlxify.contract import LaunchConfig
from tlxify.facts import Tiling
from tlxify.pipeline import convert
from tlxify.schedules.tiles import with_own_tiles
from tlxify.source import SourceFile
from tlxify.targets import HOPPER

ROOT = Path(__file__).parents[2]
SOURCE = SourceFile.read(ROOT / "corpus/gemm/descriptors.py")
TILING = Tiling("BLOCK_M", "BLOCK_N", ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)"))


@pytest.fixture(scope="module")
def plan():
    (kernel,) = convert(SOURCE).kernels
    return replace(kernel.plan, own=None)


def config(rows, columns, depth=64, warps=8, stages=3):
    return LaunchConfig((("BLOCK_M", rows), ("BLOCK_N", columns), ("BLOCK_K", depth)), warps, stages)


def own(plan, *configs):
    found = with_own_tiles(plan, TILING, configs, HOPPER).own
    shown = found.configs if found is not None else ()
    return [(*(value for _, value in each.values), each.num_warps, each.num_stages) for each in shown]


def test_the_user_s_constexprs_stay_but_for_rows_and_columns(plan):
    assert own(plan, config(128, 128), config(64, 64, 32)) == [
        (128, 256, 64, 8, 4),
        (256, 128, 64, 8, 4),
    ]
    assert all(each[2] == 32 for each in own(plan, config(128, 128, 32)))


def test_tiles_that_the_source_lists_are_its_own(plan):
    listed = config(128, 256), config(256, 128)
    assert own(plan, *listed) == []
    assert own(plan, *listed[:1]) == [(256, 128, 64, 8, 4)]


def test_sources_of_small_tiles_get_none_that_are_far_larger(plan):
    assert own(plan, config(32, 128)) == []
    assert own(plan, config(64, 64, warps=4)) == []
    assert own(plan, config(64, 128, warps=4)) == [(128, 256, 64, 8, 4)]


def test_registers_and_shared_memory_prune(plan):
    assert own(replace(plan, products=(("BLOCK_M", "BLOCK_N"),) * 2), config(128, 128)) == []
    # 96 KiB a trip leaves room for two stages only.
    assert own(plan, config(128, 128, 128)) == []
    tight = replace(HOPPER, crowded_accumulators=64)
    assert with_own_tiles(replace(plan, crowded=True), TILING, (config(128, 128),), tight).own is None


def test_claims_about_a_tile_keep_it(plan):
    claim = replace(plan.guard, claims=("N % BLOCK_N == 0",))
    assert own(replace(plan, guard=claim), config(128, 128)) == []


def test_the_user_may_have_none():
    (kernel,) = convert(SOURCE, tiles="user").kernels
    assert kernel.plan.own is None
    assert kernel.conversion.contract.added == 0
    assert "configs=" not in kernel.conversion.module_text.partition("def descriptor_kernel")[0]


def test_the_project_says_whose_tiles(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE.text)
    project = tmp_path / "pyproject.toml"
    assert tiles_of(path) == "own"
    project.write_text('[tool.tlxify]\ntiles = "user"\n')
    assert convert(SourceFile.read(path)).kernels[0].plan.own is None
    assert convert(SourceFile.read(path), tiles="own").kernels[0].plan.own is not None
    project.write_text('[tool.tlxify]\ntiles = "mine"\n')
    with pytest.raises(ConfigError, match="'mine'; allowed: 'own', 'user'"):
        tiles_of(path)


def test_each_is_verified_as_the_user_s_are():
    (kernel,) = convert(SOURCE).kernels
    contract = kernel.conversion.contract
    assert (len(kernel.contract.configs), len(contract.configs), contract.added) == (2, 4, 2)
    assert contract.listed == kernel.contract
