"""TLX5xx: the conversion would be right but not faster."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX501",
        outcome="unprofitable",
        title="nothing to gain",
        fact="Specialized warps would not make this kernel faster: {why}.",
        remedy="Nothing to do: the source is the better kernel here.",
        why=(
            "A producer costs registers and barriers. It pays where many trips keep the tensor cores waiting "
            "for memory."
        ),
        example="""
            for k in tl.static_range(2):  # two trips: nothing to run ahead of
                acc = tl.dot(a, b, acc)
        """,
    ),
)
