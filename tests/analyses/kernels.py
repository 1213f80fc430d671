"""Small kernels for the analyses: a body under one signature, parsed and interpreted."""

from __future__ import annotations

import re
import textwrap

from tlxify.analyses import analyze
from tlxify.facts import Dimension, Facts
from tlxify.model import Kernel
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = """
import triton
import triton.language as tl

@triton.jit
def helper(x, SIZE: tl.constexpr = 4):
    return x + tl.arange(0, SIZE)

@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, sm, sk, sn, sb,
           TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, FLAG: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, TM)
    j = tl.arange(0, TN)
    k = tl.arange(0, TK)
"""


def kernel_of(body: str) -> Kernel:
    """The kernel with a body; `pid`, `i`, `j` and `k` are bound before it."""
    text = HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    kernels = find_kernels(parse_module(SourceFile("kernel.py", text)))
    return next(kernel for kernel in kernels if kernel.name == "kernel")


def facts_of(body: str) -> Facts:
    """What is concluded about it."""
    return analyze(kernel_of(body))


def shown(facts: Facts, dimension: Dimension) -> str:
    """A dimension as text: stride × (coordinate + positions along the axis), then its bound; trips are `trip`.

    A limit that the launch does not tell is after `<<`, one that need not hold in brackets.
    """
    length = "" if dimension.axis is None else f" + :{facts.axis(dimension.axis).length}"
    bound = "" if dimension.extent is None else f" {'%' if dimension.wrapped else '<'} {dimension.extent}"
    if dimension.limit is not None:
        bound += f" [{dimension.limit}]" if dimension.harmless else f" << {dimension.limit}"
    text = f"{dimension.stride} * ({dimension.coordinate}{length}){bound}"
    return re.sub(r"load@[\d:]+", "loaded", re.sub(r"trip@[\d:]+", "trip", text))


def accesses_of(body: str) -> list[list[str]]:
    """The dimensions of every access of a kernel, in program order."""
    facts = facts_of(body)
    return [[shown(facts, dimension) for dimension in access.dimensions] for _, access in facts.accesses]


def problems_of(body: str) -> list[str]:
    """The codes of what keeps accesses from being tiles."""
    return [diagnostic.code for _, diagnostic in facts_of(body).problems]
