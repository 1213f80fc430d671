"""The fixture `tlxify_equivalent`: it passes what is equal and fails with the words of what was found."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

import pytest

from tlxify import convert
from tlxify.contract import Contract
from tlxify.source import SourceFile
from tlxify.verdict import Evidence, Rung, Verdict
from tlxify_pytest.equivalent import told
from tlxify_pytest.subjects import Incomparable, Subject, conversion, subject

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = "pytester"
ROOT = Path(__file__).parents[2]
GRAM = ROOT / "corpus" / "gemm" / "gram.py"

SCALED = """
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, RESULT, mask=at < n)


def scale(x, y):
    scaled[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""


@pytest.fixture
def versions(tmp_path):
    """Writes a module for each result that is to be stored."""
    for name, result in {"old": "x * 2.0", "new": "x + x", "wrong": "x * 2.5"}.items():
        (tmp_path / f"{name}.py").write_text(SCALED.replace("RESULT", result))
    return tmp_path


@pytest.fixture
def gram(tmp_path):
    """A file and its conversion, as --write leaves them but for the binding."""
    found = convert(SourceFile.read(GRAM))
    (tmp_path / "gram.py").write_text(GRAM.read_text())
    (tmp_path / "gram_tlx.py").write_text(found.sidecar_text)
    return tmp_path


@pytest.mark.triton
def test_kernels_are_named_by_path_module_or_function(versions):
    spec = importlib.util.spec_from_file_location("old_version", versions / "old.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import triton

    path = versions / "old.py"
    assert subject(path) == subject(str(path)) == subject(module) == Subject(path)
    tuned = triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])(module.scaled)
    assert subject(module.scaled) == subject(tuned) == Subject(path, "scaled")
    with pytest.raises(TypeError, match="neither a path, a module nor a kernel"):
        subject(3)


def test_second_versions_are_paired_under_the_contract_of_the_first(versions):
    old, new = Subject(versions / "old.py"), Subject(versions / "new.py")
    found = conversion(old, new, None)
    assert (found.kernel, found.converted, found.version is not None) == ("scaled", "scaled", True)
    corrected = conversion(old, new, {"n": "multiple_of(64)"})
    assert corrected.contract.multiples == (("n", "64"),)
    assert isinstance(corrected.contract, Contract)
    assert conversion(old, new, corrected.contract).contract == corrected.contract


@pytest.mark.parametrize(
    ("kernel", "contract", "words"),
    [
        ("other", None, "TLX103"),
        (None, {"m": "multiple_of(64)"}, "scaled"),
    ],
)
def test_what_cannot_be_compared_is_said(versions, kernel, contract, words):
    with pytest.raises(Incomparable, match=words):
        conversion(Subject(versions / "old.py", kernel), Subject(versions / "new.py"), contract)


def test_a_converted_file_is_taken_as_it_stands(gram):
    found = conversion(Subject(gram / "gram.py"), Subject(gram / "gram_tlx.py"), None)
    assert (found.kernel, found.version) == ("gram_kernel", None)
    assert found.module_text == (gram / "gram_tlx.py").read_text()


def test_a_conversion_of_another_text_is_none_of_this_source(gram):
    other = gram / "other.py"
    other.write_text(GRAM.read_text().replace("other=0.0", "other=1.0", 1))
    with pytest.raises(Incomparable, match="was not made from gram_kernel as"):
        conversion(Subject(other), Subject(gram / "gram_tlx.py"), None)


def test_findings_are_told_in_full():
    race = Evidence(Rung.SIMULATED, False, "race", "who raced whom", "first line\nsecond line", "k.py", 7)
    lines = told(Verdict("k", Rung.PROTOCOL, (race,)), Rung.COMPILED).splitlines()
    assert lines == [
        "k: not equivalent (proved: protocol; asked: compiled)",
        "k.py:7: race: who raced whom",
        "    first line",
        "    second line",
    ]
    fails = Evidence(Rung.SIMULATED, True, "source-fails", "it does", "reads past the end of x")
    text = told(Verdict("k", Rung.PROTOCOL, (fails,), source_fails=True), Rung.SIMULATED)
    assert "the source itself fails" in text
    assert "reads past the end of x" in text


@pytest.mark.triton
def test_the_fixture_in_a_repository_of_its_own(pytester, versions):
    pytester.makepyfile(
        f"""
        from pathlib import Path

        HERE = Path({str(versions)!r})

        def test_equal(tlxify_equivalent):
            assert tlxify_equivalent(HERE / "old.py", HERE / "new.py").passed

        def test_wrong(tlxify_equivalent):
            tlxify_equivalent(HERE / "old.py", HERE / "wrong.py", upto="simulated")
        """
    )
    done = pytester.runpytest_inprocess("-p", "tlxify_pytest", "-p", "no:cacheprovider", "--tlxify-upto", "protocol")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        ["*AssertionError: scaled: not equivalent (proved: protocol; asked: simulated)*", "*mismatch: y_ptr?*"]
    )


@pytest.mark.triton
def test_the_line_that_repeats_a_launch_is_a_command(pytester, versions):
    """It was a call in Python, with a conversion that nobody had."""
    pytester.makepyfile(
        **{
            "tests/test_it": f"""
            from pathlib import Path
            import pytest

            HERE = Path({str(versions)!r})

            @pytest.mark.parametrize("count", ["multiple_of(64)"])
            def test_wrong(tlxify_equivalent, count):
                tlxify_equivalent(HERE / "old.py", HERE / "new.py", contract={{"n": count}}, upto="protocol")
                tlxify_equivalent(HERE / "old.py", HERE / "wrong.py", contract={{"n": count}})
            """
        }
    )
    plugin = ("-p", "tlxify_pytest", "-p", "no:cacheprovider")
    done = pytester.runpytest_inprocess(*plugin)
    done.assert_outcomes(failed=1)
    (line,) = {line.partition("replay: ")[2] for line in done.outlines if "    replay: " in line}
    program, *words = shlex.split(line)
    assert (program, words[0]) == ("pytest", "tests/test_it.py::test_wrong[multiple_of(64)]")
    again = pytester.runpytest_inprocess(*plugin, *words)
    again.assert_outcomes(failed=1)
    assert [mismatch for mismatch in again.outlines if "mismatch: y_ptr" in mismatch]
    assert line in "\n".join(again.outlines)


def test_the_plugin_imports_nothing_heavy(pytester):
    pytester.makepyfile(
        """
        import sys
        def test_nothing(pytestconfig):
            assert pytestconfig.getini("tlxify_upto") == "simulated"
            assert not {"triton", "numpy", "tlx", "tlxify", "libcst"} & set(sys.modules)
        """
    )
    done = pytester.runpytest_subprocess("-p", "tlxify_pytest", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1)


def test_both_plugins_are_registered():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tlx_pytest": "tlx_pytest", "tlxify_pytest": "tlxify_pytest"}


def test_what_a_test_says_wrong_is_told_of_the_test(versions):
    with pytest.raises(Incomparable, match=r"^the contract of old.py::scaled: n: cannot read"):
        conversion(Subject(versions / "old.py"), Subject(versions / "new.py"), {"n": "size of something"})
    (versions / "pyproject.toml").write_text("[tool.tlxify.contracts]\n")
    with pytest.raises(Incomparable, match=r"^the contract of old.py::scaled: n: cannot read"):
        conversion(Subject(versions / "old.py"), Subject(versions / "new.py"), {"n": "size of something"})


def test_what_cannot_be_read_is_told(versions):
    with pytest.raises(Incomparable, match=r"cannot read .*odl.py: No such file"):
        conversion(Subject(versions / "odl.py"), Subject(versions / "new.py"), None)
    (versions / "new.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Incomparable, match=r"cannot read .*new.py: "):
        conversion(Subject(versions / "old.py"), Subject(versions / "new.py"), None)


def test_a_table_that_nobody_reads_is_warned_of(versions):
    (versions / "pyproject.toml").write_text('[tool.tlxify.contracts."old.py::scael"]\nn = "size"\n')
    with pytest.warns(UserWarning, match="old.py has no scael"):
        conversion(Subject(versions / "old.py"), Subject(versions / "new.py"), None)
