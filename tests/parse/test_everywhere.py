"""No kernel of a file is passed over without a word, wherever it stands and however it is made one."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.migrate.work import Work, kernel_names, record
from tlxify.parse.everywhere import jit_functions
from tlxify.parse.module import parse_module
from tlxify.pipeline import convert
from tlxify.source import SourceFile

HEAD = "import functools\nimport os\n\nimport triton\nimport triton.language as tl\n"
#: A product, as a plain function.
PLAIN = """
def {name}(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & (start + k[None, :] < K))
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=(n[None, :] < N) & (start + k[:, None] < K))
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
"""


def plain(name: str, depth: int = 0) -> str:
    return textwrap.indent(PLAIN.format(name=name), "    " * depth)


def jit(name: str, depth: int = 0, decorators: str = "@triton.jit") -> str:
    return textwrap.indent(f"\n{decorators}" + PLAIN.format(name=name), "    " * depth)


#: What stands beside a kernel that converts, and what is said of the kernels in it.
BESIDE: dict[str, tuple[str, dict[str, set[str]]]] = {
    "class": (f"class Holder:{jit('k', 1)}", {"k": {"TLX109"}}),
    "static": (f"class Holder:{jit('k', 1, '@staticmethod' + chr(10) + '@triton.jit')}", {"k": {"TLX109"}}),
    "two-classes": (f"class One:{jit('k', 1)}\nclass Two:{jit('k', 1)}", {"k": {"TLX109"}}),
    "same-name-in-class": (f"class Holder:{jit('main', 1)}", {"main": {"TLX109"}}),
    "class-in-class": (f"class One:\n    class Two:{jit('k', 2)}", {"k": {"TLX109"}}),
    "method": (f"class Holder:\n    def make(self):{jit('k', 2)}\n        return k", {"k": {"TLX109"}}),
    "class-in-function": (f"def make():\n    class Holder:{jit('k', 2)}\n    return Holder", {"k": {"TLX109"}}),
    "attribute-of-class": (f"{plain('_k')}\nclass Holder:\n    k = triton.jit(_k)", {"_k": {"TLX114"}}),
    "static-call": (f"{plain('_k')}\nclass Holder:\n    k = staticmethod(triton.jit(_k))", {"_k": {"TLX114"}}),
    "function": (f"def make():{jit('k', 1)}\n    return k", {"k": set()}),
    "two-functions": (
        f"def one():{jit('k', 1)}\n    return k\ndef two():{jit('k', 1)}\n    return k",
        {"k": {"TLX109"}},
    ),
    "same-name-in-function": (f"def make():{jit('main', 1)}\n    return main", {"main": {"TLX109"}}),
    "arms-in-function": (
        f"def make(wide):\n    if wide:{jit('k', 2)}\n    else:{jit('k', 2)}\n    return k",
        {"k": {"TLX113"}},
    ),
    "if": (f"if os.environ.get('X'):{jit('k', 1)}", {"k": set()}),
    "else-of-hasattr": (
        f"if hasattr(tl, 'make_tensor_descriptor'):\n    pass\nelse:{jit('k', 1)}",
        {"k": {"TLX109"}},
    ),
    "arms-of-hasattr": (
        f"if hasattr(tl, 'make_tensor_descriptor'):{jit('k', 1)}\nelse:{jit('k', 1)}",
        {"k": {"TLX113"}},
    ),
    "try": (f"try:{jit('k', 1)}\nexcept Exception:\n    pass", {"k": set()}),
    "except": (f"try:\n    import triton\nexcept ImportError:{jit('k', 1)}", {"k": {"TLX109"}}),
    "with": (f"with open('x') as f:{jit('k', 1)}", {"k": set()}),
    "loop": (f"for i in range(2):{jit('k', 1)}", {"k": {"TLX109"}}),
    "while": (f"while True:{jit('k', 1)}\n    break", {"k": {"TLX109"}}),
    "match": (f"match os.name:\n    case 'posix':{jit('k', 2)}", {"k": {"TLX109"}}),
    "jit-in-jit": (f"{jit('outer')}{jit('k', 1)}\n", {"outer": {"TLX104"}, "k": {"TLX109"}}),
    "twice": (f"{jit('k')}\nfirst = k\n{jit('k')}", {"k": {"TLX113"}}),
    "twice-then-a-helper": (
        f"{jit('k')}\nfirst = k\n@triton.jit\ndef k(x):\n    return x\n",
        {"k": {"TLX113"}},
    ),
    "in-a-dict": (f"{plain('_k')}\nkernels = {{'one': triton.jit(_k)}}", {"_k": {"TLX114"}}),
    "chosen": (f"{plain('_k')}\nk = triton.jit(_k) if os.name else None", {"_k": {"TLX114"}}),
    "handed-on": (f"{plain('_k')}\nk = functools.cache(triton.jit(_k))", {"_k": {"TLX114"}}),
    "with-options": (f"{plain('_k')}\nkernels = [triton.jit(noinline=True)(_k)]", {"_k": {"TLX114"}}),
    "lambda": (f"{plain('_k')}\nmake = lambda: triton.jit(_k)", {"_k": {"TLX114"}}),
    "returned": (f"{plain('_k')}\ndef make():\n    return triton.jit(_k)", {"_k": {"TLX114"}}),
    "own-decorator-twice": (
        f"from elsewhere import J\nclass One:{jit('k', 1, '@J')}\nclass Two:{jit('k', 1, '@J')}",
        {"k": {"TLX112"}},
    ),
}


@pytest.mark.parametrize(("beside", "expected"), BESIDE.values(), ids=BESIDE)
def test_every_kernel_beside_another_is_spoken_of(beside: str, expected: dict[str, set[str]]):
    text = f"{HEAD}{jit('main')}\n{beside}\n"
    compile(text, "m.py", "exec")
    found = convert(SourceFile("m.py", text))
    assert "main" in {kernel.name for kernel in found.converted}
    said: dict[str, set[str]] = {kernel.name: set() for kernel in found.kernels}
    for kernel in found.kernels:
        said[kernel.name] |= {item.code for item in kernel.diagnostics}
    for item in found.diagnostics:
        said.setdefault(dict(item.facts)["name"], set()).add(item.code)
    assert {"main": set(), **expected} == said
    # Every definition is spoken of where it stands.
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("def ")]
    dots = [line for line in lines if "a_ptr" in text.splitlines()[line - 1]]
    places = {kernel.span.line for kernel in found.kernels} | {i.span.line for i in found.diagnostics if i.span}
    starts = {line - back for line in dots for back in range(3)}
    assert len(dots) == sum(any(line - back in places for back in range(3)) for line in dots), (dots, places, starts)


def test_one_of_them_may_be_asked_for():
    text = f"{HEAD}{jit('main')}\nclass Holder:{jit('k', 1)}\n"
    (kernel,) = convert(SourceFile("m.py", text), ("k",)).kernels
    assert [item.code for item in kernel.diagnostics] == ["TLX109"]


NO_WORD = {
    "helper-in-class": "class Holder:\n    @triton.jit\n    def twice(x):\n        return x * 2\n",
    "decorator": "def mine(f):\n    return triton.jit(f)\n\n\ndef f(x):\n    print(x)\n",
    "host": "class Holder:\n    def forward(self, x):\n        print(x)\n",
}


@pytest.mark.parametrize("beside", NO_WORD.values(), ids=NO_WORD)
def test_what_is_no_kernel_is_not(beside: str):
    found = convert(SourceFile("m.py", f"{HEAD}{jit('main')}\n{beside}"))
    assert [kernel.name for kernel in found.kernels] == ["main"]
    assert found.diagnostics == ()


COPY = "    @triton.jit\n    def copy(x_ptr, y_ptr):\n        tl.store(y_ptr, {value})\n"


@pytest.mark.parametrize(
    ("value", "word"), [("tl.load(x_ptr)", "no-dot"), ("min(1, 2)", "no-dot"), ("Holder.of(x_ptr)", "declined")]
)
def test_one_that_surely_has_no_dot_is_said_to_have_none(value: str, word: str):
    text = f"{HEAD}{jit('main')}\nclass Holder:\n{COPY.format(value=value)}"
    assert {kernel.name: kernel.verdict_word for kernel in convert(SourceFile("m.py", text)).kernels} == {
        "main": "converted",
        "copy": word,
    }
    found = convert(SourceFile("m.py", text), tier="descriptors").kernels
    assert {kernel.name: kernel.verdict_word for kernel in found}["copy"] == "declined"


def test_a_function_that_several_calls_make_a_kernel_is_one():
    text = f"{HEAD}{plain('f')}{plain('f')}\nONE = {{'a': triton.jit(f)}}\nTWO = {{'b': triton.jit(f)}}\n"
    places = [found.node.lineno for found in jit_functions((parse_module(SourceFile("m.py", text)),))]
    assert len(places) == len(set(places)) == 1


def test_a_run_over_a_tree_lists_them_with_their_families(tmp_path):
    text = f"{HEAD}{jit('main')}\nclass One:{jit('k', 1)}\nclass Two:{jit('k', 1)}\ndef make():{jit('e', 1)}\n"
    (tmp_path / "m.py").write_text(text)
    found = record(Work(str(tmp_path / "m.py"))).kernels
    declined = ("declined", ("TLX109",), "GEMM")
    said = sorted((item.kernel, (item.verdict, item.codes, item.family)) for item in found)
    converted = ("converted", (), "GEMM")
    assert said == [("e", converted), ("k", declined), ("k", declined), ("main", converted)]
    assert len({item.line for item in found}) == 4
    # Where converting a file crashes, its kernels are tried one by one: all of them.
    assert {name for name, _ in kernel_names(Work(str(tmp_path / "m.py")))} == {"main", "k", "e"}
