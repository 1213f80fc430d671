"""The static check: is the barrier protocol of a kernel's text sound? Needs nothing but the text."""

from .check import check_protocol
from .world import World
from .worlds import worlds_of

__all__ = ["World", "check_protocol", "worlds_of"]
