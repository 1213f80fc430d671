"""`tlxify convert`: what it shows, what it writes, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxify.diagnostics import Decline, Diagnostic
from tlxify.outcome import FileConversion
from tlxify.source import Span
from tlxify.verdict import Evidence, Rung, Verdict

from .conftest import BINDING, SOURCE, good, refused


def test_it_shows_roles_diff_and_verdict_and_writes_nothing(run, fakes, file):
    result = run("convert", file, "--verify", "compiled", "--schedule", "persistent", "--kernel", "kernel")
    assert result.exit_code == 0, result.output
    assert fakes.asked == [("convert", ("kernel",), "persistent"), ("verify", "kernel", Rung.COMPILED)]
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "6 producer a = tl.load(a_ptr) feeds the dot in line 7" in lines
    assert "7 consumer+epilogue tl.store(a_ptr, a) [bold] stores" in lines
    assert "+# converted" in lines
    assert "kernel: compiled" in lines
    assert "✓ simulated SIMULATED fact" in lines
    assert "· ran RAN fact" in lines
    assert [path.name for path in Path().iterdir()] == ["m.py"]
    assert file.read_text() == SOURCE


@pytest.mark.parametrize("command", ["convert", "analyze", "verify"])
def test_tiles_and_tier_reach_the_converter(run, fakes, file, command):
    run(command, file)
    run(command, file, "--tiles", "user", "--tier", "descriptors")
    assert fakes.how == [(None, "tlx"), ("user", "descriptors")]
    assert run(command, file, "--tiles", "mine").exit_code == 2


def test_long_lines_are_not_cut_when_piped(run, fakes, file):
    long = "x = " + " + ".join(["value"] * 60)
    file.write_text(f"{SOURCE}{long}\n")
    fakes.outcome = lambda source: FileConversion(
        source, good(source).kernels, whole=lambda: source.text.replace("x =", "y =")
    )
    assert f"-{long}" in run("convert", file).stdout.splitlines()


def test_output_is_one_module(run, fakes, file):
    result = run("convert", file, "-o", "out.py")
    assert result.exit_code == 0, result.output
    assert Path("out.py").read_text() == SOURCE + "# converted\n"
    assert file.read_text() == SOURCE


def test_write_then_revert_restores_every_byte(run, fakes, file):
    assert run("convert", file, "--write").exit_code == 0
    assert file.read_text() == SOURCE + BINDING
    assert Path("m_tlx.py").read_text().startswith("# sidecar\n")
    state = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert run("convert", file, "--write").exit_code == 0
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == state, "converting again changes nothing"
    assert run("revert", file).exit_code == 0
    assert {path.name: path.read_text() for path in Path().iterdir()} == {"m.py": SOURCE}


def test_a_changed_source_is_converted_afresh_and_still_reverts(run, fakes, file):
    run("convert", file, "--write")
    edited = SOURCE.replace("a = tl", "a = triton")
    file.write_text(edited + BINDING)
    assert run("convert", file, "--write").exit_code == 0
    assert run("revert", file).exit_code == 0
    assert file.read_text() == edited


@pytest.mark.parametrize("option", [["-o", "out.py"], ["--write"]])
def test_what_failed_verification_is_not_written(run, fakes, file, option):
    race = Evidence(Rung.SIMULATED, False, "race", "slot 0 of a_ring", "seed 7\nline 9", "m_tlx.py", 12)
    fakes.verdict = lambda conversion, upto: Verdict(conversion.kernel, Rung.PROTOCOL, (race,))
    result = run("convert", file, "--verify", "simulated", *option)
    assert result.exit_code == 1
    assert "m_tlx.py:12: race: slot 0 of a_ring" in result.stdout
    assert "seed 7" in result.stdout
    assert "nothing written" in result.stderr
    assert [path.name for path in Path().iterdir()] == ["m.py"]


def test_a_rung_that_was_not_reached_is_a_finding(run, fakes, file):
    fakes.verdict = lambda conversion, upto: Verdict(
        conversion.kernel, Rung.PROTOCOL, skipped=("Triton is not installed",)
    )
    result = run("convert", file, "--verify", "compiled")
    assert result.exit_code == 1
    assert "skipped: Triton is not installed" in result.stdout


def test_a_source_that_fails_is_not_reported_as_converted(run, fakes, file):
    fakes.verdict = lambda conversion, upto: Verdict(conversion.kernel, upto, source_fails=True)
    result = run("convert", file)
    assert result.exit_code == 1
    assert "the source kernel itself fails" in result.stdout


@pytest.mark.parametrize(
    ("code", "facts", "status"),
    [("TLX201", {"name": "a_ptr"}, 1), ("TLX501", {"why": "two trips"}, 0), ("TLX301", {"name": "kernel"}, 0)],
)
def test_refusals_show_code_line_and_caret(run, fakes, file, code, facts, status):
    fakes.outcome = refused(code, **facts)
    result = run("convert", file)
    assert result.exit_code == status
    assert f"m.py:6:9: {fakes.outcome(None).kernels[0].diagnostics[0].outcome}: {code}" in result.stdout
    assert "    6 |     a = tl.load(a_ptr)\n      |         ^^^^^^^^^^^^^^\n" in result.stdout
    assert f"more: tlxify explain {code}" in result.stdout


def test_a_skip_comment_silences_its_code(run, fakes, file):
    file.write_text(SOURCE.replace("a = tl.load(a_ptr)", "a = tl.load(a_ptr)  # tlxify: skip[TLX201] known"))
    fakes.outcome = refused("TLX201", name="a_ptr")
    result = run("convert", file)
    assert result.exit_code == 0
    assert "TLX201" not in result.stdout
    fakes.outcome = refused("TLX204", name="a_ptr")
    assert run("convert", file).exit_code == 1


def test_a_file_that_does_not_parse_is_fatal_only_if_it_is_the_only_one(run, fakes, file):
    fakes.outcome = Decline("TLX101", Span(1, 0, 1, 6), why="invalid syntax")
    assert run("convert", file).exit_code == 2
    Path("n.py").write_text(SOURCE)
    fakes.outcome = lambda source: (
        FileConversion(source, diagnostics=(Diagnostic.of("TLX101", None),)) if source.path == "m.py" else good(source)
    )
    result = run("convert", file, "n.py")
    assert result.exit_code == 1
    assert "TLX101" in result.stdout


def test_bytes_that_are_no_text_are_a_diagnostic(run, fakes, file):
    file.write_bytes(b"x = '\xff'\n")
    result = run("convert", file)
    assert (result.exit_code, fakes.asked) == (2, [])
    assert "TLX101" in result.stdout


def test_json_is_all_there_is_on_stdout(run, fakes, file):
    data = json.loads(run("convert", file, "--json", "--verify", "simulated").stdout)
    assert data["schema"] == 1
    (kernel,) = data["files"][0]["kernels"]
    assert (kernel["kernel"], kernel["line"], kernel["verdict"], kernel["codes"]) == ("kernel", 4, "converted", [])
    assert kernel["verification"]["rung"] == "simulated"
    assert kernel["roles"][1] == {"line": 6, "roles": ["producer"], "why": "feeds the dot in line 7"}
    fakes.outcome = refused("TLX201", name="a_ptr")
    result = run("convert", file, "--json")
    (kernel,) = json.loads(result.stdout)["files"][0]["kernels"]
    assert (result.exit_code, kernel["verdict"], kernel["codes"]) == (1, "declined", ["TLX201"])
    assert (kernel["diagnostics"][0]["line"], kernel["diagnostics"][0]["column"]) == (6, 9)


@pytest.mark.parametrize(
    "words", [["nosuch.py"], [], ["m.py", "-o", "x.py", "--write"], ["m.py", "-o", "./m.py"], ["m.py", "--verify", "x"]]
)
def test_bad_usage_is_status_2(run, fakes, file, words):
    result = run("convert", *words)
    assert result.exit_code == 2
    assert file.read_text() == SOURCE


def test_an_internal_error_shows_no_traceback_unless_asked(run, fakes, file):
    fakes.outcome = RecursionError("too deep")
    result = run("convert", file)
    assert result.exit_code == 2
    assert "internal error: RecursionError: too deep" in result.stderr
    assert "Traceback" not in result.output
    debugged = run("--debug", "convert", file)
    assert isinstance(debugged.exception, RecursionError)


def test_a_missing_dependency_is_named(run, fakes, file):
    fakes.outcome = ModuleNotFoundError("No module named 'black'", name="black")
    result = run("convert", file)
    assert result.exit_code == 2
    assert "black is not installed; `tlxify doctor`" in result.stderr
    fakes.outcome = ModuleNotFoundError("No module named 'tlxify.gone'", name="tlxify.gone")
    assert "internal error" in run("convert", file).stderr
