"""Children under limits: whatever one kernel does, the others are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify.migrate.pool import Limits, records
from tlxify.migrate.record import INTERNAL, LIMIT, FileRecord
from tlxify.migrate.work import Work

from .conftest import NO_DOT, kernel


def run(*paths: Path, seconds: float = 30.0, memory: int = 1 << 30) -> dict[str, FileRecord]:
    limits = Limits(seconds=seconds, memory=memory)
    return {Path(record.file).name: record for record in records([Work(str(path)) for path in paths], limits)}


@pytest.mark.parametrize(
    ("name", "code", "said", "seconds"),
    [
        ("crashes", INTERNAL, "RuntimeError: a fault of ours", 30.0),
        ("dies", INTERNAL, "status 7", 30.0),
        ("swells", LIMIT, "more than 1 GiB of memory", 30.0),
        ("hangs", LIMIT, "no end after 4 seconds", 4.0),
    ],
)
def test_a_kernel_that_stops_its_child_is_named_and_the_others_are_done(tmp_path, sabotage, name, code, said, seconds):
    (tmp_path / "bad.py").write_text(kernel(name))
    (tmp_path / "good.py").write_text(NO_DOT)
    found = run(tmp_path / "bad.py", tmp_path / "good.py", seconds=seconds)
    assert [(item.kernel, item.verdict) for item in found["good.py"].kernels] == [("scale", "no-dot")]
    sound, stopped = found["bad.py"].kernels
    assert (sound.kernel, sound.verdict, sound.codes) == ("scale", "no-dot", ("TLX301",))
    assert (stopped.kernel, stopped.verdict, stopped.codes) == (name, "declined", (code,))
    assert name in stopped.message
    assert said in stopped.message
    assert found["bad.py"].failed
    assert not found["good.py"].failed


def test_closing_early_ends_the_children(tmp_path, sabotage):
    (tmp_path / "good.py").write_text(NO_DOT)
    (tmp_path / "bad.py").write_text(kernel("hangs"))
    works = [Work(str(tmp_path / name)) for name in ("good.py", "bad.py")]
    coming = records(works, Limits(seconds=600.0))
    assert Path(next(coming).file).name == "good.py"
    coming.close()  # returns at once, although the other child sleeps for ten minutes
