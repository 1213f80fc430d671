"""A child ends with its parent, however that ended, and at its deadline, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.migrate.test_migrate import alive

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
ROOT = str(Path(__file__).parents[2])
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])}
#: A parent that verifies a kernel that never ends.
PARENT = """
import sys
from tests.verify.samples import conversion
from tlxify.verdict import Rung
from tlxify.verify.child import Job, run_job
run_job(Job("tests.verify.jobs:spins", conversion(), Rung.RAN, {"pids": sys.argv[1]}), print)
"""


def wait_for(what, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return what()


def left_by(words, pids, how):
    """The processes that run on after their parent was killed; they are ended then."""
    with subprocess.Popen(words, env=ENVIRONMENT) as parent:
        assert wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"), 60.0)
        started = [int(pid) for pid in pids.read_text().split()]
        assert all(map(alive, started))
        parent.send_signal(how)
        parent.wait(timeout=10)
        wait_for(lambda: not any(map(alive, started)), 10.0)
    left = [pid for pid in started if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_parent_leaves_no_worker(tmp_path, how):
    """They ran on at full speed, without limits: these were the parent's to keep."""
    pids = tmp_path / "pids"
    assert not left_by([sys.executable, "-c", PARENT, pids], pids, how)


@pytest.mark.triton
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nor_does_the_simulator_of_whole_programs(tmp_path, how):
    pids = tmp_path / "pids"
    program = tmp_path / "program.py"
    said = f"pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}}\\n')"
    program.write_text(f"import os, pathlib\n{said}\nwhile 1: pass")
    words = [sys.executable, "-c", "from tlx.sim.tool.command import sim; sim()", program]
    assert not left_by(words, pids, how)


def test_nor_does_a_capture_leave_the_program_running(tmp_path):
    pids = tmp_path / "pids"
    program = f"import os, pathlib; pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}}\\n')\nwhile 1: pass"
    whole = "from tlxify.capture.run import capture; from pathlib import Path; import sys; "
    whole += "print(capture(sys.argv[2:], Path(sys.argv[1]), limit=1)[0])"
    record = tmp_path / "launches.jsonl"
    words = [sys.executable, "-c", whole, record, sys.executable, "-c", program]
    assert not left_by(words, pids, signal.SIGTERM)
    assert record.exists()  # what was recorded until then


#: A child under a lifeline, with its argument as the parent.
CHILD = """
import sys
from tlxify.verify import lifeline
lifeline.GRACE, lifeline.PERIOD = 1.0, 0.05
{}
lifeline.hold(int(sys.argv[1]), {})
while True:
    pass
"""


def ended(setting: str, parent: int, seconds: float | None, patience: float = 20.0) -> int:
    words = [sys.executable, "-c", CHILD.format(setting, seconds), str(parent)]
    with subprocess.Popen(words, env=ENVIRONMENT, start_new_session=True) as child:
        try:
            return child.wait(timeout=patience)
        finally:
            child.kill()


def test_a_deadline_is_kept_even_if_the_parent_forgets_it():
    assert ended("", os.getpid(), 0.1) == -signal.SIGKILL


def test_a_deadline_is_kept_by_code_that_lets_no_other_run():
    assert ended("sys.setswitchinterval(1000.0)", os.getpid(), 0.1) == -signal.SIGALRM


def test_a_parent_that_was_gone_before_counts():
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert ended("", gone.pid, None) == -signal.SIGKILL


def test_a_program_between_parent_and_child_is_none_of_its_business():
    with pytest.raises(subprocess.TimeoutExpired):
        ended("", os.getppid(), None, patience=2.0)


def test_both_packages_hold_their_children_alike():
    """`tlx` knows nothing of `tlxify`, which converts where `tlx` cannot be imported."""
    first, second = (Path(ROOT) / folder / "lifeline.py" for folder in ("tlxify/verify", "tlx/sim/tool"))
    assert first.read_text() == second.read_text()
