"""What is written into a user's file, and that nothing of the user's is taken out of it again."""

from __future__ import annotations

import textwrap

import pytest

from tests.golden import CASES, read
from tlxify import convert
from tlxify.source import SourceFile

SOURCE = read(CASES / "address" / "recomputed.py").source
BODY = SOURCE[SOURCE.index("@triton.jit") :]
HEAD = SOURCE[: SOURCE.index("@triton.jit")]


def outputs(text):
    conversion = convert(SourceFile("kernel.py", text))
    assert [kernel.verdict_word for kernel in conversion.kernels] == ["converted"]
    return conversion


@pytest.mark.parametrize(
    "line",
    [
        "    scale = 1  # tlxify: skip[TLX307] looked at by hand",
        "    # tlxify: skip[TLX304] looked at by hand",
        "    scale = 1  # tlxify",
        "    scale = None  # tlxify: a note of my own",
    ],
)
def test_a_comment_that_speaks_of_tlxify_stays(line):
    first, rest = BODY.split("\n    rows", 1)
    text = f"{HEAD}{first}\n{line}\n    rows{rest}"
    conversion = outputs(text)
    assert conversion.source.text == text
    assert line in conversion.module_text.splitlines()
    assert line in conversion.patched_source_text.splitlines()
    for output in (conversion.module_text, conversion.patched_source_text):
        assert convert(SourceFile("kernel.py", output)).source.text == text


@pytest.mark.parametrize("opener", ["if HAVE_TRITON:", "try:", "with CONTEXT:"])
def test_a_kernel_inside_a_block_is_bound_inside_it(opener):
    closer = "\nexcept ImportError:\n    pass\n" if opener == "try:" else ""
    inside = textwrap.indent(BODY.rstrip("\n"), "    ")
    text = f"{HEAD}HAVE_TRITON = True\nCONTEXT = None\n\n{opener}\n{inside}\n\n    AFTER = 1\n{closer}"
    conversion = outputs(text)
    for output in (conversion.module_text, conversion.patched_source_text):
        compile(output, "kernel.py", "exec")
        bound = next(line for line in output.splitlines() if "specialize_kernel(kernel)" in line)
        assert bound.startswith("    ")
        assert convert(SourceFile("kernel.py", output)).source.text == text


MAKER = f"{HEAD}def make(steps):\n    DEPTH = 2\n{textwrap.indent(BODY, '    ')}    return kernel\n"


def test_a_kernel_that_a_function_makes_is_bound_inside_it():
    conversion = outputs(MAKER)
    for output in (conversion.module_text, conversion.patched_source_text):
        compile(output, "kernel.py", "exec")
        bound = next(line for line in output.splitlines() if "specialize_kernel(kernel)" in line)
        assert bound.startswith("    ")
        assert convert(SourceFile("kernel.py", output)).source.text == MAKER


@pytest.mark.parametrize(("read", "why"), [("steps", "is given it"), ("hidden", "its value is computed")])
def test_a_kernel_that_reads_what_its_maker_computes_is_declined(read, why):
    text = MAKER.replace("DEPTH = 2", "hidden = steps + 1").replace(
        "acc = tl.zeros(", f"x = {read}\n        acc = tl.zeros("
    )
    (kernel,) = convert(SourceFile("kernel.py", text)).kernels
    (diagnostic,) = kernel.diagnostics
    assert diagnostic.code == "TLX109"
    assert read in diagnostic.message
    assert why in diagnostic.message


def test_a_kernel_in_a_class_is_declined_where_it_stands():
    text = f"{HEAD}class Holder:\n{textwrap.indent(BODY, '    ')}"
    (kernel,) = convert(SourceFile("kernel.py", text)).kernels
    (diagnostic,) = kernel.diagnostics
    assert (kernel.verdict_word, diagnostic.code) == ("declined", "TLX109")
    assert "inside a class: what is bound in a class" in diagnostic.message
    assert diagnostic.span.line == text[: text.index("def kernel")].count("\n") + 1


CALLED = f"{HEAD}{BODY.removeprefix('@triton.jit' + chr(10)).replace('def kernel(', 'def _kernel(')}"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("product = triton.jit(_kernel)", "product"),
        ("_kernel = triton.jit(\n    _kernel,\n    do_not_specialize=['M'],\n)", "_kernel"),
        ("product = triton.autotune(configs=[], key=['M'])(triton.jit(_kernel))", "product"),
    ],
)
def test_what_a_call_makes_a_kernel_is_bound_below_the_call(call, name):
    text = f"{CALLED}\n\nif True:\n{textwrap.indent(call, '    ')}\n    AFTER = 1\n"
    conversion = outputs(text)
    for output in (conversion.module_text, conversion.patched_source_text):
        compile(output, "kernel.py", "exec")
        lines = output.splitlines()
        bound = next(i for i, line in enumerate(lines) if f"specialize_kernel({name})" in line)
        assert lines[bound].startswith(f"    {name} = ") or lines[bound].startswith(f"        {name} = ")
        assert lines.index(textwrap.indent(call, "    ").splitlines()[-1]) < bound < lines.index("    AFTER = 1")
        assert convert(SourceFile("kernel.py", output)).source.text == text


def test_either_name_of_it_may_be_asked_for():
    text = f"{CALLED}\n\nproduct = triton.jit(_kernel)\n"
    for name in ("product", "_kernel"):
        (kernel,) = convert(SourceFile("kernel.py", text), kernels=(name,)).kernels
        assert kernel.name == "_kernel"
