"""What is wrong when a cluster has ended, or cannot: deadlocks, and work and arrivals that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .barriers import MBarrier
from .findings import Deadlock, ExpectBytes, LeftoverState
from .scheduler import Agent
from .sites import Site

if TYPE_CHECKING:
    from .cluster import Cluster
    from .cta import Cta


def report_deadlock(cluster: Cluster, stuck: list[Agent]) -> None:
    """Says who waits for what, and what is wrong with the barriers they wait for."""
    findings = cluster.findings
    states = tuple(cluster.describe_barriers())
    for cta in cluster.ctas:
        findings.program = cta.program
        _diagnose_bytes(cta)
    _diagnose_overruns(stuck)
    findings.program = stuck[0].cta.program
    lines = tuple(
        f"{agent.name} waits for {agent.waiting.reason} (line {agent.waiting.site.line})"
        for agent in stuck
        if agent.waiting is not None
    )
    # The code outside tasks only waits for tasks, here or in a peer; blame these if there are any.
    blamed = [agent for agent in stuck if agent.waiting is not None and agent.site is not None]
    first = (blamed or stuck)[0].waiting
    assert first is not None
    others = (agent.waiting.site for agent in blamed[1:] if agent.waiting is not None)
    second = next((site for site in others if site != first.site), first.other)
    what = f"{len(blamed or stuck)} of {len(cluster.scheduler.agents)} agents wait for something that cannot happen"
    findings.add(Deadlock, what, first.site, second, lines, states)


def report_leftovers(cta: Cta) -> None:
    """Looks for unfinished business after the last task has ended."""
    _diagnose_bytes(cta)
    _report_barriers(cta)
    for agent in [agent for agent in cta.scheduler.agents if agent.cta is cta]:
        # Nothing waits for tcgen05 itself; an mbarrier tells that it is over.
        agent.products.retired = cta.kernel.clock.get(agent.products.lane, 0)
        for queue, name in (
            (agent.dots, "dots"),
            (agent.stores, "bulk stores"),
            (agent.copies, "copies"),
            (agent.products, "tcgen05 operations"),
        ):
            if queue.retired < queue.working:
                what = f"{agent.name} ends with {queue.working - queue.retired} {name} it has not waited for"
                cta.findings.add(LeftoverState, what, queue.last_site, agent.site, (agent.name,))


def _report_barriers(cta: Cta) -> None:
    for bar in cta.mbarriers:
        if bar.pending != bar.count and bar.outstanding == 0:
            what = f"{bar.name} ends with {bar.count - bar.pending} of {bar.count} arrivals of a phase"
            cta.findings.add(LeftoverState, what, bar.site, bar.last_expect, (), (bar.describe(),))
        elif bar.last_expect is not None and cta.kernel.clock.get(bar.lane, 0) < bar.phase:
            what = f"{bar.name}: nobody waits for the copies of its last phase"
            cta.findings.add(LeftoverState, what, bar.last_expect, bar.site, (), (bar.describe(),))


def _diagnose_overruns(stuck: list[Agent]) -> None:
    """A wait that began before its barrier ran ahead could not tell then."""
    for agent in stuck:
        wait = agent.waiting
        if wait is not None and wait.on is not None and wait.on[0] == "phase":
            _, bar, target = wait.on
            if bar.phase > target + 1:
                agent.cta.scheduler.current = agent
                agent.cta.findings.program = agent.cta.program
                agent.cta.report_overrun(bar, target, target & 1, wait.site)


def _diagnose_bytes(cta: Cta) -> None:
    for bar in cta.mbarriers:
        if bar.outstanding > 0 and not bar.copies:
            _report_bytes(cta, bar, f"{bar.outstanding} more bytes are expected than copied", bar.last_expect)
        elif bar.outstanding < 0:
            what = f"{-bar.outstanding} bytes were copied that were not expected"
            _report_bytes(cta, bar, what, bar.last_expect or bar.last_copy)


def _report_bytes(cta: Cta, bar: MBarrier, what: str, site: Site | None) -> None:
    first = site or bar.site
    other = next((x for x in (bar.last_copy, bar.last_expect, bar.site) if x is not None and x != first), None)
    cta.findings.add(ExpectBytes, f"{bar.name}: {what}", first, other, (), (bar.describe(),))
