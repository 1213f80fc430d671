"""Launches of a kernel: by its own name, by one that a function gives it tuned, with arguments out of a dictionary."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.parse.kernels import find_kernels
from tlxify.parse.launches import call_sites
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel(x, M, N, BM: tl.constexpr, SPLIT: tl.constexpr):
    pass

def launch(a, configs, other):
    M, N = a.shape
    def grid(META):
        return (triton.cdiv(M, META["BM"]), META["SPLIT"])
    given = {{"x": a, "M": M, "N": N, "SPLIT": 2}}
{body}
"""


def sites(body):
    text = KERNEL.format(body=textwrap.indent(textwrap.dedent(body), "    "))
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", text)))
    return call_sites(kernel)


@pytest.mark.parametrize(
    "body",
    [
        "kernel[grid](**given)",
        "tuned = triton.autotune(configs=configs, key=['M'])(kernel)\ntuned[grid](**given)",
        "tuned = autotune(configs, ['M'])(kernel)\ntuned[grid](**given)",
        "tuned = triton.heuristics({})(kernel)\ntuned[grid](a, M, N, SPLIT=2)",
    ],
)
def test_grid_and_arguments_are_read(body):
    (site,) = sites(body)
    assert site.grid == ("cdiv(M, BM)", "SPLIT")
    assert ("SPLIT", 2) in site.literals


def test_what_the_call_says_itself_counts():
    (site,) = sites("kernel[grid](**given, BM=64)")
    assert dict(site.literals) == {"SPLIT": 2, "BM": 64}


@pytest.mark.parametrize(
    "body",
    [
        "tuned = other(kernel)\ntuned[grid](**given)",
        "tuned = other.cached(1)(kernel)\ntuned[grid](**given)",
        "tuned = triton.autotune(configs=configs, key=['M'])(launch)\ntuned[grid](**given)",
    ],
)
def test_other_wrappers_may_launch_anything(body):
    assert sites(body) == ()


def test_a_dictionary_from_elsewhere_says_nothing():
    (site,) = sites("kernel[grid](**other)")
    assert site.literals == ()
