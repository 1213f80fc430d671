"""The plan as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from .dump import dump

if TYPE_CHECKING:
    from tlxify.plan import Plan


def plan_tables(plan: Plan) -> Iterator[RenderableType]:
    """The plan, field by field."""
    yield Text(dump(plan))
