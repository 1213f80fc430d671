"""Configs as people write them, evaluated without running anything."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tlxify.parse.kernels import find_kernels
from tlxify.parse.launches import call_sites, tuner_configs
from tlxify.parse.literals import ConfigLiteral, NotLiteral, evaluate
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

MODULE = """
import itertools
import os
from itertools import product

import triton
from triton import Config
import triton.language as tl

WARPS = 8
SIZES = [64, 128]
TWICE = [2 * size for size in SIZES]
AT_IMPORT = int(os.environ["SIZE"])
CYCLE = CYCLE_TOO
CYCLE_TOO = CYCLE


def one(size):
    return size


def configs():
    '''Says what it returns.'''
    return [triton.Config({"BLOCK": size}, num_warps=WARPS) for size in SIZES]


def computed():
    if os.cpu_count() > 2:
        return []
    return [1]
"""


def value(text):
    return evaluate(ast.parse(text, mode="eval").body, parse_module(SourceFile("configs.py", MODULE)))


def config(warps=4, stages=3, **values):
    return ConfigLiteral(tuple(values.items()), warps, stages)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("'x'", "x"),
        ("WARPS // 3 + 2 ** 3 % 5", 5),
        ("1 << 4", 16),
        ("(1, 2)", [1, 2]),
        ("[*SIZES, 256]", [64, 128, 256]),
        ("TWICE", [128, 256]),
        ("{'a': 1, 'b': WARPS}", {"a": 1, "b": 8}),
        ("dict(a=1)", {"a": 1}),
        ("1 if WARPS > 4 else 2", 1),
        ("list_ if False else 3", 3),
        ("[a for a in range(5) if a % 2 == 0]", [0, 2, 4]),
        ("[(a, b) for a in (1, 2) for b in range(a)]", [[1, 0], [2, 0], [2, 1]]),
        ("[a + b for a, b in product([1, 2], [10])]", [11, 12]),
        ("[a for a, _ in itertools.product((1, 2), (3, 4)) if a != 2]", [1, 1]),
        ("configs()", [config(8, BLOCK=64), config(8, BLOCK=128)]),
        ("triton.Config({'BLOCK': 32})", config(BLOCK=32)),
        ("Config(kwargs={'BLOCK': 32}, num_stages=5, num_warps=2)", config(2, 5, BLOCK=32)),
        ("triton.Config({}, 8, 4)", config(8, 4)),
        ("[Config({'M': m, 'N': n}, num_warps=w) for m, n, w in [(64, 32, 4)]]", [config(4, M=64, N=32)]),
    ],
)
def test_what_a_reader_can_work_out_is_worked_out(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "unknown",
        "AT_IMPORT",
        "CYCLE",
        "os.environ",
        "open('x')",
        "one(1)",
        "computed()",
        "1 // 0",
        "1 << -1",
        "'a' - 1",
        "[*WARPS]",
        "{**SIZES}",
        "[a for a in WARPS]",
        "[a for a, b in [(1, 2, 3)]]",
        "product(SIZES, 3)",
        "range('x')",
        "triton.Config()",
        "triton.Config([1])",
        "triton.Config({}, num_warps='4')",
        "lambda: 1",
        "{(1, 2): 3}",
        "{None: 1}",
        "range()",
        "range(1, 2, 0)",
        "range(10 ** 15)",
        "9 ** 9 ** 9",
        "1 << 10 ** 12",
        "[0] * 10 ** 12",
    ],
)
def test_what_only_running_would_tell_is_not_literal(text):
    with pytest.raises(NotLiteral):
        value(text)


def kernel(text):
    module = parse_module(SourceFile("kernel.py", textwrap.dedent(text)))
    (found,) = find_kernels(module)
    return found


TUNED = """
import triton
import triton.language as tl

SIZES = (64, 128)

@triton.autotune({configs}, key=["M"])
@triton.jit
def kernel(x_ptr, M, BLOCK: tl.constexpr):
    pass
"""


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ("[triton.Config({'BLOCK': b}) for b in SIZES]", (config(BLOCK=64), config(BLOCK=128))),
        ("configs=[triton.Config({'BLOCK': 32}, num_warps=8)]", (config(8, BLOCK=32),)),
        ("configs=make()", None),
        ("configs=[]", None),
    ],
)
def test_the_configs_of_a_tuner(configs, expected):
    assert tuner_configs(kernel(TUNED.format(configs=configs))) == expected


@pytest.mark.parametrize(
    ("grid", "axes"),
    [
        ("(triton.cdiv(m, 64),)", ("cdiv(M, 64)",)),
        ("lambda META: (triton.cdiv(m, META['BLOCK']) * 2, 3)", ("(cdiv(M, BLOCK) * 2)", "3")),
        ("bound", ("cdiv(M, BLOCK)",)),
        ("function", ("cdiv(M, BLOCK)",)),
        ("(tiles, 1)", ("cdiv(M, 64)", "1")),
        ("(len(x),)", (None,)),
        ("(count(),)", (None,)),
    ],
)
def test_the_grid_of_a_launch_in_the_kernels_own_terms(grid, axes):
    (site,) = call_sites(
        kernel(
            f"""
            import triton
            import triton.language as tl

            @triton.jit
            def kernel(x_ptr, M, BLOCK: tl.constexpr):
                pass

            def launch(x, m):
                tiles = triton.cdiv(m, 64)
                bound = lambda meta: (triton.cdiv(m, meta["BLOCK"]),)
                def function(meta):
                    return (triton.cdiv(m, meta["BLOCK"]),)
                kernel[{grid}](x, m, BLOCK=64, num_warps=8)
            """
        )
    )
    assert site.grid == axes
    assert dict(site.literals) == {"BLOCK": 64, "num_warps": 8}
