"""A pytest plugin: the fixture ``tlx_sim`` runs a kernel on many schedules on the CPU and fails with what it finds.

pytest imports this in every session, so nothing of Triton is imported before the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tlx.sim.testing import Simulate

#: options of the configuration file: name → (help, default)
_SETTINGS = {
    "tlx_seeds": ("random schedules that tlx_sim runs beside late and eager", "4"),
    "tlx_timeline": ("folder into which tlx_sim writes the timeline of a launch with findings", ""),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--tlx-seeds``, ``--tlx-timeline`` and their defaults in the configuration."""
    group = parser.getgroup("tlx", "kernels on the CPU simulator")
    for name, (text, default) in _SETTINGS.items():
        group.addoption(f"--{name.replace('_', '-')}", dest=name, default=None, help=text)
        parser.addini(name, text, default=default)


def _setting(config: pytest.Config, name: str) -> str:
    given = config.getoption(name)
    return str(config.getini(name) if given is None else given)


@pytest.fixture(scope="session")
def tlx_sim(request: pytest.FixtureRequest) -> Simulate:
    """Runs a launch under late, eager and some seeds: ``tlx_sim(kernel, grid, args, kwargs)``.

    Skips the test where Triton is not installed. Without findings it returns the last report; the arguments hold the
    results, which are the same whatever the schedule. It keeps nothing between calls, so hypothesis may use it.
    """
    pytest.importorskip("triton", reason="the simulator needs a Triton wheel")
    from tlx.sim.testing import Simulate

    return Simulate(int(_setting(request.config, "tlx_seeds")), _setting(request.config, "tlx_timeline"))
