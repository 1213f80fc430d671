"""What a kernel's imported names mean, read off small packages written to disk."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.model import Alias, Constant, Helper, Unresolved
from tlxify.parse.bindings import IN_LANGUAGE
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = "import os\nimport triton\nimport triton.language as tl\n"
SCALE = "@triton.jit\ndef scale(x):\n    return x * FACTOR\n"
OPS = f"{HEAD}FACTOR = tl.constexpr(3)\n{SCALE}exp = tl.exp\nlog2 = tl.math.log2\nSTEPS: tl.constexpr = 4\n"


def kernel(imports, uses):
    body = "".join(f"    tl.store(x_ptr, {use})\n" for use in uses)
    return f"{HEAD}{textwrap.dedent(imports)}\n@triton.jit\ndef kernel(x_ptr):\n    x = tl.load(x_ptr)\n{body}"


@pytest.fixture
def tree(tmp_path):
    """Writes files below a root outside of which lies one more; returns what a chain means in `pkg/sub/kernel.py`."""

    def write(imports, chain, files=()):
        texts = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/ops.py": OPS}
        texts |= {f"{name}.py": text for name, text in dict(files).items()}
        texts["pkg/sub/kernel.py"] = kernel(imports, [f"{chain}(x)"])
        for name, text in texts.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        module = parse_module(SourceFile.read(tmp_path / "root/pkg/sub/kernel.py"))
        found = module.meaning(chain)
        assert found is not None
        assert found[0] == chain
        return found[1]

    return write


@pytest.mark.parametrize(
    ("imports", "chain"),
    [
        ("from pkg.ops import scale", "scale"),
        ("from pkg.ops import scale as times", "times"),
        ("from ..ops import scale", "scale"),
        ("from .. import ops", "ops.scale"),
        ("from pkg import ops as o", "o.scale"),
        ("import pkg.ops", "pkg.ops.scale"),
        ("import pkg.ops as o", "o.scale"),
        ("import pkg", "pkg.ops.scale"),
        ("from ..ops import *", "scale"),
        ("from pkg.ops import scale\ntimes = scale", "times"),
        ("if True:\n    from pkg.ops import scale", "scale"),
        ("try:\n    from pkg.ops import scale\nexcept ImportError:\n    scale = None", "scale"),
    ],
)
def test_a_helper_is_found_with_the_names_of_its_module(tree, imports, chain):
    found = tree(imports, chain)
    assert isinstance(found, Helper)
    assert (found.name, found.node.name) == ("scale", "scale")
    name, factor = found.module.meaning("FACTOR")
    assert isinstance(factor, Constant)
    assert (name, factor.value) == ("FACTOR", 3)


@pytest.mark.parametrize(
    ("imports", "chain", "canonical"),
    [
        ("from pkg.ops import exp", "exp", "triton.language.exp"),
        ("from pkg.ops import log2 as lg", "lg", "triton.language.math.log2"),
        ("from pkg import ops", "ops.exp", "triton.language.exp"),
        ("exp2 = tl.math.exp2", "exp2", "triton.language.math.exp2"),
    ],
)
def test_an_alias_stands_for_a_name_of_tritons(tree, imports, chain, canonical):
    assert tree(imports, chain) == Alias(canonical)


def test_a_constant_keeps_the_statement_that_binds_it(tree):
    found = tree("from ..ops import STEPS as N", "N")
    assert isinstance(found, Constant)
    assert (found.name, found.value) == ("STEPS", 4)
    assert found.module.source.segment(found.span) == "STEPS: tl.constexpr = 4"


@pytest.mark.parametrize(
    ("init", "imports"),
    [
        ("from .ops import scale", "from pkg import scale"),
        ("from pkg.ops import scale as times", "from .. import times as scale"),
        ("from .ops import *", "from pkg import scale"),
        ("from .a import scale", "from pkg import scale"),
    ],
)
def test_names_passed_on_by_a_package_are_followed(tree, init, imports):
    files = {"pkg/__init__": init, "pkg/a": "from .b import scale", "pkg/b": "from pkg.ops import scale"}
    found = tree(imports, "scale", files)
    assert isinstance(found, Helper)
    assert found.module.source.path.endswith("ops.py")


CHOICE = "if {test}:\n    @triton.jit\n    def f(x): return x + 1\nelse:\n    @triton.jit\n    def f(x): return x + 2\n"


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("os.environ.get('FLAG', '0') == '1'", "return x + 2"),
        ("os.environ.get('FLAG') is None", "return x + 1"),
        ("os.environ.get('FLAG') != '1'", "return x + 1"),
        ("os.getenv('FLAG', '1') == '1'", "return x + 1"),
        ("False", "return x + 2"),
    ],
)
def test_a_choice_by_an_environment_variable_is_made_as_if_it_were_unset(tree, test, line):
    found = tree("from pkg.choice import f", "f", {"pkg/choice": HEAD + CHOICE.format(test=test)})
    assert isinstance(found, Helper)
    assert line in found.module.source.line(found.node.end_lineno)


@pytest.mark.parametrize(
    "text",
    [
        "if os.environ.get('F') == '1':\n    f = tl.exp\nelse:\n    f = tl.exp2\n",
        "if os.environ.get('F') == '1':\n    from pkg.ops import exp as f\nelse:\n    from pkg.ops import log2 as f\n",
        "if os.getenv('F') == '1':\n    from triton.language import exp as f\nelse:\n    from pkg import exp as f\n",
        "try:\n    from pkg.ops import exp as f\nexcept ImportError:\n    f = tl.exp2\n",
    ],
)
def test_a_choice_among_functions_of_tritons_is_left_open_for_the_launcher_would_not_notice(tree, text):
    found = tree("from pkg.choice import f", "f", {"pkg/choice": HEAD + text})
    assert found == Unresolved("which function of Triton it is, the program chooses when it runs")
    assert tree(text, "f") == found


def test_only_what_type_checkers_see_is_no_choice(tree):
    text = "if TYPE_CHECKING:\n    from pkg.ops import scale as f\nelse:\n    f = tl.exp\n"
    assert tree(text, "f") == Alias("triton.language.exp")


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import triton.language as t\nexcept ImportError:\n    t = None\n",
        "try:\n    import triton.language as t\nexcept ImportError:\n    from pkg.ops import nothing as t\n",
        "try:\n    from pkg import ops\n    import triton.language as t\nexcept ImportError:\n    t = None\n",
    ],
)
def test_what_stands_in_for_a_missing_triton_is_no_choice(tree, text):
    assert tree(f"{text}f = t.exp\n", "f") == Alias("triton.language.exp")


def test_a_kernel_in_an_arm_that_does_not_hold_is_still_seen(tree):
    text = "if os.environ.get('F') == '1':\n    from pkg.ops import scale\n"
    assert isinstance(tree(text, "scale"), Helper)


@pytest.mark.parametrize(
    "test",
    [
        "torch.cuda.is_available()",
        "int(os.environ.get('F', '0'))",
        "os.environ.get('F') == OTHER",
        "config.get('F') == 1",
    ],
)
def test_of_any_other_choice_the_first_form_is_taken(tree, test):
    found = tree("from pkg.choice import f", "f", {"pkg/choice": HEAD + CHOICE.format(test=test)})
    assert isinstance(found, Helper)
    assert "return x + 1" in found.module.source.line(found.node.end_lineno)


def test_the_users_own_file_is_read_by_the_same_rules(tree):
    found = tree(CHOICE.format(test="wide()"), "f")
    assert found.module.source.line(found.node.end_lineno).endswith("return x + 1")
    found = tree(CHOICE.format(test="os.environ.get('FLAG', '0') == '1'"), "f")
    assert found.module.source.line(found.node.end_lineno).endswith("return x + 2")


@pytest.mark.parametrize(
    ("imports", "chain", "why"),
    [
        ("from elsewhere.ops import f", "f", "`elsewhere.ops` is not in this source tree"),
        ("from ....ops import f", "f", "`....ops` is not in this source tree"),
        ("from pkg.ops import f", "f", "`pkg/ops.py` does not define `f`"),
        ("from pkg import nowhere", "nowhere", "`pkg/__init__.py` does not define `nowhere`"),
        ("from pkg import ops", "ops.f", "`pkg/ops.py` does not define it"),
        ("from pkg import broken", "broken.f", "`pkg/broken.py` cannot be read"),
        ("from pkg.plain import f", "f", "it is a plain Python function"),
        ("from pkg.plain import SIZE", "SIZE", "its value is computed"),
        ("from pkg.plain import MAYBE", "MAYBE", "it is bound only under a condition"),
        ("from pkg.plain import TWICE", "TWICE", "it is defined in several ways"),
        ("from pkg.circle import f", "f", "it is passed on through more than 8 modules"),
        ("try:\n    from a import f\nexcept ImportError:\n    f = None", "f", "it is defined in several ways"),
    ],
)
def test_why_a_name_has_no_meaning(tree, imports, chain, why):
    plain = """
        def f(x): return x
        SIZE = f(3)
        if SIZE:
            MAYBE = 3
        TWICE = f(1)
        TWICE = f(2)
    """
    files = {"pkg/plain": plain, "pkg/broken": "def"}
    files |= {"pkg/circle": "from .back import f", "pkg/back": "from .circle import f"}
    assert tree(imports, chain, files) == Unresolved(why)


def test_files_outside_of_the_tree_are_not_read(tree, tmp_path):
    (tmp_path / "secret.py").write_text(OPS)
    (tmp_path / "root/pkg").mkdir(parents=True)
    (tmp_path / "root/pkg/link.py").symlink_to(tmp_path / "secret.py")
    assert tree("from pkg.link import scale", "scale") == Unresolved("`pkg.link` is not in this source tree")


def test_modules_may_import_each_other(tree):
    a = f"{HEAD}from . import b\n@triton.jit\ndef f(x):\n    return b.g(x)\n"
    b = f"{HEAD}from . import a\nSIZE: tl.constexpr = 2\n@triton.jit\ndef g(x):\n    return a.f(x) + SIZE\n"
    found = tree("from pkg.a import f", "f", {"pkg/a": a, "pkg/b": b})
    _, there = found.module.meaning("b.g")
    _, back = there.module.meaning("a.f")
    assert back.node is found.node


def test_nothing_is_run(tree, tmp_path):
    marker = tmp_path / "ran"
    text = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n{OPS}"
    assert isinstance(tree("from pkg.loud import scale", "scale", {"pkg/loud": text}), Helper)
    assert not marker.exists()


ASKED = """import triton
import triton.language as tl
if hasattr(MODULE, "_experimental_make_tensor_descriptor"):
    make = triton.language._experimental_make_tensor_descriptor
elif hasattr(MODULE, "make_tensor_descriptor"):
    make = triton.language.make_tensor_descriptor
else:
    @triton.jit
    def make(base):
        return None

@triton.jit
def kernel(x):
    make(x)
"""


@pytest.mark.parametrize("module", ["tl", "triton.language"])
def test_what_the_language_has_is_the_same_in_every_release(module):
    found = parse_module(SourceFile("kernel.py", ASKED.replace("MODULE", module)))
    assert found.meaning("make") == ("make", Alias("triton.language.make_tensor_descriptor"))


def test_what_another_module_has_is_not_known():
    found = parse_module(SourceFile("kernel.py", ASKED.replace("MODULE", "ops")))
    assert isinstance(found.meaning("make")[1], Unresolved)


@pytest.mark.triton
def test_the_installed_release_answers_as_written_down():
    import triton.language as tl

    assert {name: hasattr(tl, name) for name in IN_LANGUAGE} == IN_LANGUAGE
