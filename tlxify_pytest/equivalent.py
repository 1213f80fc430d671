"""What the fixture ``tlxify_equivalent`` returns: a call that verifies, and fails with the words of what it found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tlxify.contract import Contract
from tlxify.verdict import Rung, Verdict
from tlxify.verify import Limits, verify
from tlxify.verify.replay import case_of
from tlxify.verify.unlaunchable import CODE

from .subjects import Given, Incomparable, conversion, subject


class Equivalent:
    """Verifies pairs of kernels up to a rung."""

    def __init__(self, upto: str, command: tuple[str, ...] = (), replay: str | None = None) -> None:
        self._upto = upto
        #: The words that run this test again.
        self._command = command
        self._replay = replay

    def __call__(
        self,
        source: object,
        converted: object,
        *,
        kernel: str | None = None,
        converted_kernel: str | None = None,
        contract: Given = None,
        upto: str | None = None,
        seconds: float = 600.0,
    ) -> Verdict:
        """Asserts that `converted` computes what `source` computes, on every launch that the contract allows.

        Args:
            source: the kernel that is right by definition: a file, a module, or a jit function in any decorators.
            converted: a file that tlxify wrote (sidecar, module of `-o`, or a file with bindings), or any second
                version of the kernel, plain Triton or TLX; given in the same ways.
            kernel: which kernel of `source`, where that is a file or module with more than one.
            converted_kernel: what it is called in `converted`; by default the same.
            contract: what a valid launch is: a `tlxify.contract.Contract`, or corrections of what is inferred, in the
                words of `[tool.tlxify.contracts]`, such as `{"a_ptr": "bf16[M, K]"}`.
            upto: "protocol", "simulated", "compiled" or "ran"; by default as `--tlxify-upto` says.
            seconds: limit of each child process.

        Returns:
            The verdict, which says what the assertion rests on.

        Raises:
            AssertionError: the kernels differ, the second one races or hangs, or the proof did not get as far as asked.
        """
        __tracebackhide__ = True
        before, after = subject(source), subject(converted)
        before = before if kernel is None else replace(before, kernel=kernel)
        after = after if converted_kernel is None else replace(after, kernel=converted_kernel)
        rung = Rung[(upto or self._upto).upper()]
        try:
            pair = conversion(before, after, contract)
        except Incomparable as reason:
            raise AssertionError(f"the kernels cannot be compared: {reason}") from None
        pair = replace(pair, command=self._command, replaying="--tlxify-replay")
        replay = self._replay if _fits(self._replay, pair.contract) else None
        if replay is not None:  # a launch that is repeated says nothing of other rungs
            rung = Rung.SIMULATED
        verdict = verify(pair, upto=rung, limits=Limits(seconds), replay=replay)
        if not verdict.passed or (verdict.rung < rung and not verdict.skipped):
            raise AssertionError(told(verdict, rung))
        if verdict.rung < rung:
            pytest.skip(f"{verdict.kernel} is proved up to {verdict.rung.name.lower()}: {'; '.join(verdict.skipped)}")
        return verdict


def _fits(launch: str | None, contract: Contract) -> bool:
    """Whether a launch is one of this kernel: a test may compare several pairs."""
    if launch is None:
        return False
    try:
        case_of(launch, contract)
    except ValueError:
        return False
    return True


def told(verdict: Verdict, asked: Rung) -> str:
    """A verdict that did not pass, in the words of its findings."""
    lines = [f"{verdict.kernel}: not equivalent (proved: {verdict.rung.name.lower()}; asked: {asked.name.lower()})"]
    if verdict.source_fails:
        lines[0] = f"{verdict.kernel}: the source itself fails, so nothing can be compared with it"
        lines += [item.detail or item.text for item in verdict.evidence if item.code in (CODE, "source-fails")]
    for finding in verdict.findings:
        where = f"{finding.file}:{finding.line}: " if finding.line else ""
        lines.append(f"{where}{finding.code}: {finding.text}")
        lines += [f"    {line}" for line in finding.detail.splitlines()]
    return "\n".join(lines)
