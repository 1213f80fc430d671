"""`verify`: which files it takes for what, what a finding prints, and what repeats a launch."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tlxify.verdict import Evidence, Rung, Verdict

PLAIN = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def double(x, y):
    scale[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""
TWICE = PLAIN.replace("* 2,", "+ tl.load(x_ptr + at, mask=at < n),")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(PLAIN)
    Path("new.py").write_text(TWICE)


def test_two_files_and_a_kernel_are_a_pair(run, fakes, files):
    asked = []

    def verdict(conversion, upto):
        asked.append(conversion)
        finding = Evidence(
            Rung.SIMULATED, False, "mismatch", "y_ptr[0] is 1", shlex.join(conversion.command), "new.py", 5
        )
        return Verdict(conversion.kernel, Rung.PROTOCOL, (finding,))

    fakes.verdict = verdict
    result = run("verify", "old.py", "new.py", "--kernel", "scale", "--upto", "simulated")
    assert result.exit_code == 1
    assert "new.py:5: mismatch: y_ptr[0] is 1" in result.stdout
    (conversion,) = asked
    assert conversion.version is not None
    assert conversion.command == ("tlxify", "verify", "old.py", "new.py", "--kernel", "scale")
    assert (conversion.file, conversion.source_file) == ("new.py", "old.py")
    assert "tl.load(x_ptr + at, mask=at < n) * 2" in conversion.source_text
    assert "tl.load(x_ptr + at, mask=at < n) + tl.load" in conversion.module_text


def test_the_second_version_may_have_another_name(run, fakes, files):
    Path("new.py").write_text(TWICE.replace("scale", "twice"))
    result = run("verify", "old.py", "new.py", "--kernel", "scale")
    assert (result.exit_code, "TLX103" in result.stdout) == (2, True)
    assert run("verify", "old.py", "new.py", "--kernel", "scale", "--as", "twice").exit_code == 0


def test_a_refusal_is_shown_in_the_file_that_it_speaks_of(run, fakes, files):
    Path("new.py").write_text(TWICE.replace("n, BLOCK", "n, shift, BLOCK"))
    result = run("verify", "old.py", "new.py", "--kernel", "scale")
    assert result.exit_code == 1
    assert re.search(r"new.py:6:\d+: error: TLX607", result.stdout)
    assert '"new.py::scale"' in result.stdout
    Path("old.py").write_text(PLAIN.replace("(x_ptr + at, mask", "(x_ptr + at * at, mask"))
    assert "old.py:8:" in run("verify", "old.py", "new.py", "--kernel", "scale").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["old.py", "--as", "twice"], "--as names the kernel in the second of two FILEs"),
        (["old.py", "--replay", "{}"], "name it with --kernel"),
        (
            ["old.py", "new.py", "--kernel", "scale", "--replay", '{"size": 1}'],
            "unknown key 'size'; allowed are config",
        ),
        (["old.py", "new.py", "--kernel", "scale", "--replay", "M=3"], "--replay: not JSON"),
    ],
)
def test_words_that_do_not_fit_are_refused(run, files, words, said):
    result = run("verify", *words)
    assert result.exit_code == 2
    assert said in result.output


def test_the_contract_is_shown_as_the_project_would_say_it(run, fakes, files):
    Path("pyproject.toml").write_text('[tool.tlxify.contracts."old.py::scale"]\nn = "1..100"\n')
    shown = run("verify", "old.py", "new.py", "--kernel", "scale", "--show-contract").stdout
    assert '[tool.tlxify.contracts."old.py::scale"]' in shown
    assert 'x_ptr = "in fp16|bf16[n] strides(1)"' in shown
    assert 'n = "size 1..100"' in shown
    Path("pyproject.toml").write_text('[tool.tlxify.contracts."old.py::scale"]\nm = "1..100"\n')
    result = run("verify", "old.py", "new.py", "--kernel", "scale")
    assert result.exit_code == 2
    assert "m: scale has no such parameter; allowed: x_ptr, y_ptr, n, BLOCK" in result.stderr


def test_two_files_without_a_kernel_are_told_what_two_versions_need(run, files):
    result = run("verify", "old.py", "new.py", "--upto", "protocol")
    assert "TLX301" in result.stdout, "neither has a dot: there is nothing to convert"
    assert "verify OLD.py NEW.py --kernel K" in result.stderr
    assert "OLD.py" not in run("verify", "old.py", "--upto", "protocol").stderr


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("old.py::scael", "old.py has no scael; it has scale, double"),
        ("odl.py::scale", "there is no odl.py in "),
        ("old.py::scale", ""),
        ("new.py::scale", ""),
    ],
)
def test_a_table_that_nobody_reads_is_told(run, fakes, files, table, said):
    Path("pyproject.toml").write_text(f'[tool.tlxify.contracts."{table}"]\nn = "size"\n')
    result = run("verify", "old.py", "new.py", "--kernel", "scale")
    assert result.exit_code == 0
    assert result.stderr.count("says nothing") == bool(said)
    assert said in result.stderr


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        ('{"values": {}}', "values lacks n; "),
        ('{"values": {"n": "x"}}', "values.n is 'x'; allowed: a whole number"),
        ('{"values": {"n": 3}, "tiles": {"BLOCK": 33}}', "tiles.BLOCK is 33; allowed: a power of two"),
        ('{"values": {"n": 3}, "zeroed": "q"}', "zeroed is 'q'; allowed are 'n', None"),
        ('{"values": {"n": 3}, "dtype": 900}', "dtype is 900; allowed are 0 to 1"),
    ],
)
def test_a_launch_that_is_none_of_the_kernel_is_refused(run, fakes, files, launch, why):
    result = run("verify", "old.py", "new.py", "--kernel", "scale", "--replay", launch)
    assert (result.exit_code, why in result.stderr) == (2, True)
