"""The verdict ladder: how far a conversion was proved, and on what each rung rests."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..verdict import Evidence, Rung, Verdict

MEANING = {
    Rung.PROTOCOL: "proved from the text",
    Rung.SIMULATED: "simulated on the CPU",
    Rung.COMPILED: "compiled for the target",
    Rung.RAN: "run on a GPU",
}


#: Codes of what is wrong on the source's side: told in full below the rungs.
SOURCE = ("contract-fault", "source-fails")


def state(verdict: Verdict, rung: Rung) -> tuple[str, str]:
    """A mark and a style: reached, failed or not tried."""
    if any(item.rung == rung for item in verdict.findings):
        return "✗", "bold red"
    return ("✓", "green") if rung <= verdict.rung else ("·", "dim")


def headline(verdict: Verdict) -> Text:
    """One line: the kernel and the highest rung reached, or what stopped it."""
    if any(item.code == "contract-fault" for item in verdict.evidence):
        return Text(f"{verdict.kernel}: no valid launch is known", "bold yellow")
    if verdict.source_fails:
        return Text(f"{verdict.kernel}: the source kernel itself fails", "bold yellow")
    if verdict.findings:
        return Text(f"{verdict.kernel}: failed, {len(verdict.findings)} finding(s)", "bold red")
    return Text(f"{verdict.kernel}: {verdict.rung.name.lower()}", "bold green" if verdict.rung else "bold yellow")


def ladder(verdict: Verdict) -> RenderableType:
    """Headline, the rungs from bottom to top with their evidence, what was skipped, and each finding in full."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for rung, meaning in MEANING.items():
        mark, look = state(verdict, rung)
        facts = [item.text for item in verdict.evidence if item.rung == rung and item.ok and item.code not in SOURCE]
        said = "; ".join(facts) or (f"not {meaning}" if mark == "·" else meaning)
        table.add_row(Text(mark, look), Text(rung.name.lower(), look), Text(said, "dim"))
    parts: list[RenderableType] = [headline(verdict), Padding(table, (0, 0, 0, 2))]
    parts += [Text(f"  skipped: {reason}", "yellow") for reason in verdict.skipped]
    parts += [finding(item) for item in verdict.evidence if verdict.source_fails and item.code in SOURCE]
    parts += [finding(item) for item in verdict.findings]
    return Group(*parts)


def finding(item: Evidence) -> Text:
    """What went wrong, with its place and everything that helps to find the cause."""
    place = f"{item.file}:{item.line}: " if item.line else f"{item.file}: " if item.file else ""
    text = Text(f"{place}{item.code}: ", "bold red").append(item.text, "default")
    for line in item.detail.splitlines():
        text.append(f"\n    {line}", "not bold default")
    return text
