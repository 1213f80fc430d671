"""`verify --timeline`: refused early where nothing could be drawn, and handed on otherwise."""

import pytest
from click.testing import CliRunner

from tlxify.cli import main
from tlxify.job import Job
from tlxify.verdict import Rung, Verdict


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeline", "run.png"], "an .html or an .svg file, not 'run.png'"),
        (["--timeline", "run.svg", "--upto", "protocol"], "use it with --upto simulated or higher"),
    ],
)
def test_what_cannot_be_drawn_is_refused(words, said, tmp_path):
    file = tmp_path / "a.py"
    file.write_text("import triton\n")
    result = CliRunner().invoke(main, ["verify", str(file), *words])
    assert result.exit_code == 2
    assert said in result.output


def test_every_kernel_has_a_file_of_its_own(tmp_path):
    job = Job(timeline=tmp_path / "run.html")
    assert job.picture("first") == str(tmp_path / "run.html")
    job.verdicts["a.py", "first"] = Verdict("first", Rung.SIMULATED, (), False, ())
    assert job.picture("second") == str(tmp_path / "run-second.html")
    assert Job().picture("first") is None
