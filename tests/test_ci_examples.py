"""The recipes for users' repositories: they parse, and every command, option and variable in them exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from tlxify.cli import main
from tlxify.hook import conversions

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
PAGE = ROOT / "docs" / "continuous-integration.md"


def loaded(path):
    return yaml.safe_load(path.read_text())


def commands(text):
    """The arguments of each call of tlxify in a text, as a shell would split them."""
    for line in text.splitlines():
        for found in re.finditer(r"(?<![\w./\"-])tlxify ((?:verify|convert|migrate|doctor|explain)\b[^`|]*)", line):
            yield shlex.split(found[1])


def unknown_options(arguments):
    """What in a call of tlxify its command does not know."""
    name, *rest = arguments
    command = main.get_command(click.Context(main), name)
    assert command is not None, name
    known = {option for parameter in command.params for option in parameter.opts}
    return [word for word in rest if word.startswith("-") and word not in known]


@pytest.mark.parametrize("path", [*sorted(EXAMPLES.glob("*.yml")), PAGE], ids=lambda path: path.name)
def test_commands_and_their_options_exist(path):
    found = list(commands(path.read_text()))
    assert found
    assert [unknown_options(arguments) for arguments in found] == [[]] * len(found)


def test_an_option_that_there_is_not_would_be_seen():
    (arguments,) = commands("run: tlxify verify kernels.py --up-to compiled")
    assert unknown_options(arguments) == ["--up-to"]


def test_the_workflow_is_one():
    workflow = loaded(EXAMPLES / "github-actions.yml")
    # YAML 1.1 reads the key `on` as a truth value.
    assert {"push", "pull_request"} == set(workflow[True])
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert set(workflow["jobs"]) >= {job["needs"] for job in workflow["jobs"].values() if "needs" in job}


def test_variables_are_read_somewhere():
    code = "\n".join(path.read_text() for package in ("tlx", "tlxify") for path in (ROOT / package).rglob("*.py"))
    told = set(re.findall(r"TLXIFY_[A-Z_]+", "".join(p.read_text() for p in [*EXAMPLES.iterdir(), PAGE])))
    assert told
    assert [name for name in told if f'"{name}"' not in code] == []


def test_rungs_and_options_of_the_fixture_exist():
    import tlxify_pytest

    text = (ROOT / "tlxify_pytest" / "__init__.py").read_text()
    for path in (*EXAMPLES.iterdir(), PAGE):
        for rung in re.findall(r"--tlxify-upto (\w+)", path.read_text()):
            assert rung in tlxify_pytest.RUNGS
    assert '"--tlxify-upto"' in text
    compile((EXAMPLES / "test_kernels.py").read_text(), "test_kernels.py", "exec")


def test_both_hooks_run_the_same():
    (offered,) = loaded(ROOT / ".pre-commit-hooks.yaml")
    ((local,),) = [repo["hooks"] for repo in loaded(EXAMPLES / "pre-commit-config.yaml")["repos"]]
    shared = ("id", "name", "entry", "types", "require_serial")
    assert [offered[key] for key in shared] == [local[key] for key in shared]
    assert offered["entry"] == "python -m tlxify.hook"


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text()):
        assert (PAGE.parent / target).exists(), target


class TestHook:
    """`python -m tlxify.hook` over the files of a commit."""

    @pytest.fixture
    def tree(self, tmp_path, monkeypatch):
        from click.testing import CliRunner

        monkeypatch.chdir(tmp_path)
        Path("gram.py").write_text((ROOT / "corpus" / "gemm" / "gram.py").read_text())
        Path("plain.py").write_text("x = 1\n")
        Path("notes.txt").write_bytes(b"\xff\xfe")
        done = CliRunner().invoke(main, ["convert", "--write", "gram.py"])
        assert done.exit_code == 0, done.output
        return tmp_path

    def test_only_conversions_count_and_each_once(self, tree):
        assert conversions(["plain.py", "notes.txt", "gone.py"]) == []
        assert conversions(["gram.py", "plain.py"]) == ["gram.py"]
        assert conversions(["gram_tlx.py"]) == ["gram_tlx.py"]
        for both in (["gram.py", "gram_tlx.py"], ["gram_tlx.py", "gram.py"]):
            assert conversions(both) == ["gram.py"]

    def test_a_source_edited_without_its_conversion_stops_the_commit(self, tree):
        import subprocess
        import sys

        def hook(*files):
            environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
            return subprocess.run(
                [sys.executable, "-m", "tlxify.hook", *files], capture_output=True, text=True, env=environment
            )

        passed = hook("plain.py")
        assert (passed.returncode, passed.stdout) == (0, "")
        source = tree / "gram.py"
        source.write_text(source.read_text().replace("dtype=tl.float32", "dtype=tl.float16", 1))
        done = hook("gram.py", "plain.py")
        assert done.returncode == 1
        assert "TLX608" in done.stdout
