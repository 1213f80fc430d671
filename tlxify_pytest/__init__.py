"""A pytest plugin: the fixture ``tlxify_equivalent`` fails a test whose two kernels do not compute the same.

pytest imports this in every session, so nothing of tlxify is imported before the fixture is used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tlxify_pytest.equivalent import Equivalent

RUNGS = ("protocol", "simulated", "compiled", "ran")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--tlxify-upto`` with its default in the configuration, and ``--tlxify-replay``."""
    text = f"how far tlxify_equivalent proves: {', '.join(RUNGS)}"
    group = parser.getgroup("tlxify", "equivalence of kernels")
    group.addoption(
        "--tlxify-replay",
        dest="tlxify_replay",
        metavar="LAUNCH",
        help="simulate this launch alone, as a finding printed it",
    )
    group.addoption("--tlxify-upto", dest="tlxify_upto", default=None, choices=RUNGS, help=text)
    parser.addini("tlxify_upto", text, default="simulated")


@pytest.fixture
def tlxify_equivalent(request: pytest.FixtureRequest) -> Equivalent:
    """Asserts that two kernels compute the same: ``tlxify_equivalent(source, converted)``.

    Skips the test where what the proof needs is not installed. Neither kernel is run in this process, so a kernel that
    crashes or hangs fails its test and no other.
    """
    given = request.config.getoption("tlxify_upto")
    upto = str(request.config.getini("tlxify_upto") if given is None else given)
    if upto not in RUNGS:
        raise pytest.UsageError(f"tlxify_upto = {upto}: known are {', '.join(RUNGS)}")
    if upto != "protocol":
        pytest.importorskip("triton", reason="launches are simulated with a Triton wheel")
    from tlxify_pytest.equivalent import Equivalent

    # Relative to where the command was given: so it can be given again.
    path, _, name = request.node.nodeid.partition("::")
    path = os.path.relpath(request.node.path, request.config.invocation_params.dir)
    command = ("pytest", f"{path}::{name}")
    return Equivalent(upto, command, request.config.getoption("tlxify_replay"))
