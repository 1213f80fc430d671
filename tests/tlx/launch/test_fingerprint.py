"""The fingerprint: what changes it, what does not, and what happens when it has changed."""

import hashlib
import importlib.util
import textwrap

import pytest

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import TILES, Bench, grid_of, operands
from tlx.launch.fingerprint import digest, fingerprint_of, function_text, names_used, parts_of

HELPERS = """
    import triton

    OFFSET = triton.language.constexpr(5)

    @triton.jit
    def shift(x):
        return x + OFFSET
"""

SOURCE = """
    import math
    import triton
    import triton.language as tl
    import {helpers} as helpers

    SIZE = 64
    MODE: tl.constexpr = tl.constexpr("wide")
    UNUSED = 3

    @triton.jit
    def half(x):
        return x / 2

    @triton.autotune(configs=[triton.Config({{}})], key=[])
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr):
        # what it does
        offsets = tl.arange(0, BLOCK)

        x = tl.load(x_ptr + offsets, mask=offsets < n)
        if MODE.value == "wide":
            x = half(x) + SIZE
        tl.store(x_ptr + offsets, helpers.shift(x) * math.pi)
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    count = 0

    def load(source=SOURCE, helpers=HELPERS):
        nonlocal count
        count += 1
        name = f"fingerprinted_{tmp_path.name.replace('-', '_')}_{count}"
        (tmp_path / f"{name}_helpers.py").write_text(textwrap.dedent(helpers))
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(source).format(helpers=f"{name}_helpers"))
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_parts_are_names_and_texts(load):
    parts = parts_of(load().kernel)
    assert {name for name, _ in parts} == {"kernel", "half", "SIZE", "MODE", "helpers.shift", "OFFSET"}
    assert {("SIZE", "64"), ("MODE", "'wide'"), ("OFFSET", "5")} <= parts
    assert ("helpers.shift", "def shift(x):\n    return x + OFFSET") in parts


def test_the_digest_is_sha256_of_the_sorted_parts():
    written = "a\n1\nb\n2\nb\n3\n"
    assert digest([("b", "3"), ("a", "1"), ("b", "2"), ("a", "1")]) == hashlib.sha256(written.encode()).hexdigest()


def test_the_text_of_a_function_starts_at_def_and_ends_with_its_code():
    source = '''
        @jit(
            debug=True,
        )
        def f(a,
              b):   \n
            """Says
               what."""

            return a  # kept
            # left out

        def g(): ...
    '''
    text = 'def f(a,\n      b):\n    """Says\n       what."""\n    return a  # kept'
    assert function_text(source) == text
    assert function_text(text) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(x, y=Y): return x + y + z", ["Y", "z"]),
        ("def f(x: tl.constexpr): return tl.where(x.dtype.is_fp8(), a.b.c, 0)", ["a.b.c", "tl.constexpr", "tl.where"]),
        ("def f():\n  for i in range(n): (p, q) = g(i), p\n  return q", ["g", "n", "range"]),
        ("def f(): return [k for k in K] + h(1).w.v", ["K", "h"]),
        ("def f(*args, **rest): return args[I].x, rest", ["I"]),
    ],
)
def test_names_that_a_function_loads_and_does_not_bind(text, names):
    assert names_used(text) == tuple(names)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIZE = 64", "SIZE = 65"),
        ("return x / 2", "return x / 3"),
        ("* math.pi", "* math.e"),
        ("# what it does", "# what it did"),
        ('tl.constexpr("wide")', 'tl.constexpr("narrow")'),
    ],
)
def test_a_change_that_counts(load, old, new):
    assert old in SOURCE
    assert fingerprint_of(load().kernel) != fingerprint_of(load(SOURCE.replace(old, new)).kernel)


@pytest.mark.parametrize(("old", "new"), [("OFFSET\n", "OFFSET + 1\n"), ("constexpr(5)", "constexpr(6)")])
def test_a_change_in_a_helper_of_another_module_counts(load, old, new):
    assert old in HELPERS
    assert fingerprint_of(load().kernel) != fingerprint_of(load(helpers=HELPERS.replace(old, new)).kernel)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("UNUSED = 3", "UNUSED = 4"),
        ("triton.Config({{}})", "triton.Config({{}}, num_warps=8)"),
        ("BLOCK)\n\n", "BLOCK)\n\n\n   \n"),
        ("SIZE = 64", "SIZE = tl.constexpr(64)"),
    ],
)
def test_a_change_that_does_not_count(load, old, new):
    assert old in SOURCE
    assert fingerprint_of(load().kernel) == fingerprint_of(load(SOURCE.replace(old, new)).kernel)


def test_recursion_ends(load):
    source = """
        import triton
        import {helpers}

        @triton.jit
        def even(n):
            return odd(n - 1)

        @triton.jit
        def odd(n):
            return even(n - 1)
    """
    assert {name for name, _ in parts_of(load(source).even)} == {"even", "odd"}


def test_the_proxy_has_the_fingerprint_of_its_original():
    assert fingerprint_of(Bench().bind()) == fingerprint_of(kernels.matmul)


def test_a_stale_conversion_warns_once_and_runs_the_original(bench, caplog):
    kernel = bench.bind(fingerprint="0" * 16)
    for _ in range(2):
        assert kernel[grid_of](*operands(), **TILES) == "original"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    for word in ("matmul", kernels.__file__, "tlxify convert"):
        assert word in record.getMessage()


def test_a_stale_conversion_is_an_error_where_asked(bench, monkeypatch):
    monkeypatch.setenv("TLXIFY_STALE", "error")
    kernel = bench.bind(fingerprint="0" * 16)
    for _ in range(2):
        with pytest.raises(launch.StaleKernelError, match="matmul"):
            kernel[grid_of](*operands(), **TILES)
    assert bench.log == []


def test_a_helper_edited_while_running_is_noticed_by_the_next_process(bench, monkeypatch):
    kernel = bench.bind()
    monkeypatch.setattr(kernels, "SCALE", kernels.tl.constexpr(3.0))
    assert kernel.resolve(*operands(), grid=grid_of, **TILES).code == "stale"
