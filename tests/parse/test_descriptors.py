"""How long the blocks of a caller's descriptors are, read off hooks and launches."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.parse.descriptors import Blocks, blocks_of
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
{before}
{decorator}
@triton.jit
def kernel(a_desc, M, N, FLAG: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    a = a_desc.load([0, 0])
{after}
"""


def said(before="", after="", decorator=""):
    parts = {name: textwrap.dedent(text) for name, text in (("before", before), ("after", after))}
    text = KERNEL.format(decorator=decorator, **parts)
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", text)))
    return blocks_of(kernel).get("a_desc", ())


@pytest.mark.parametrize(
    "body",
    [
        'nargs["a_desc"].block_shape = [nargs["BM"], nargs["BK"]]',
        'rows = nargs["BM"]\n    nargs["a_desc"].block_shape = (rows, nargs["BK"])',
        'rows, depth = nargs["BM"], nargs["BK"]\n    nargs["a_desc"].block_shape = [rows, depth]',
        'rows = 3\n    rows = nargs["BM"]\n    nargs["a_desc"].block_shape = [rows, nargs["BK"]]',
    ],
)
def test_a_hook_says_it(body):
    assert said(f"def hook(nargs):\n    {body}\n") == (Blocks(("BM", "BK")),)


@pytest.mark.parametrize(
    "body",
    [
        'nargs["a_desc"].block_shape = [nargs["BM"] // 2, nargs["BK"]]',
        'nargs["a_desc"].block_shape = [nargs["M"], nargs["BK"]]',
        'nargs["b_desc"].block_shape = [nargs["BM"], nargs["BK"]]',
        'rows = nargs["BM"]\n    rows = pick(nargs)\n    nargs["a_desc"].block_shape = [rows, nargs["BK"]]',
        'rows, depth = pick(nargs)\n    nargs["a_desc"].block_shape = [rows, depth]',
        'nargs["a_desc"].block_shape = [1, 1]',
    ],
)
def test_what_a_hook_computes_is_not_known(body):
    assert said(f"def hook(nargs):\n    {body}\n") == ()


def test_a_hook_may_ask_for_a_flag():
    hook = """
    def hook(nargs):
        if nargs["FLAG"]:
            nargs["a_desc"].block_shape = [nargs["BM"], nargs["BK"]]
        else:
            nargs["a_desc"].block_shape = [nargs["BK"], nargs["BM"]]
    """
    assert said(hook) == (Blocks(("BM", "BK"), (("FLAG", True),)), Blocks(("BK", "BM"), (("FLAG", False),)))


HOOKS = """
def one(nargs):
    nargs["a_desc"].block_shape = [nargs["BM"], nargs["BK"]]
def other(nargs):
    nargs["a_desc"].block_shape = [nargs["BK"], nargs["BM"]]
"""


def test_the_hook_that_the_kernel_names_is_its_own():
    tuned = "@triton.autotune([triton.Config({'BM': 64}, pre_hook=other)], key=[])"
    assert said(HOOKS, decorator=tuned) == (Blocks(("BK", "BM")),)
    assert said(HOOKS) == (Blocks(("BM", "BK")), Blocks(("BK", "BM")))


@pytest.mark.parametrize(
    "made",
    [
        "TensorDescriptor(a, a.shape, a.stride(), [BM, BK])",
        "TensorDescriptor(a, a.shape, a.stride(), block_shape=[BM, BK])",
        "TensorDescriptor.from_tensor(a, [BM, BK])",
        "TensorDescriptor.from_tensor(tensor=a, block_shape=[BM, BK], padding='zero')",
    ],
)
def test_a_launch_says_it(made):
    bound = f"def launch(a, BM, BK):\n    d = {made}\n    kernel[(1,)](d, 1, 1, FLAG=True, BM=BM, BK=BK)\n"
    assert said(after=bound) == (Blocks(("BM", "BK")),)
    placed = f"def launch(a, BM, BK):\n    kernel[(1,)]({made}, 1, 1, True, BM, BK)\n"
    assert said(after=placed) == (Blocks(("BM", "BK")),)


def test_a_launch_that_leaves_it_to_a_hook_says_nothing():
    after = "def launch(a):\n    block = [1, 1]\n    kernel[(1,)](TensorDescriptor.from_tensor(a, block), 1, 1)\n"
    assert said(after=after) == ()
    assert said(HOOKS, after) == (Blocks(("BM", "BK")), Blocks(("BK", "BM")))


def test_what_stands_behind_a_star_is_nowhere():
    after = """
    def launch(described, a, BM, BK):
        kernel[(1,)](*described, TensorDescriptor.from_tensor(a, [BM, BK]), 1, FLAG=True, BM=BM, BK=BK)
    """
    assert said(after=after) == ()
