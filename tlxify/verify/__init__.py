"""Verification: is a conversion as right as its source? `verify` climbs the ladder of `tlxify.verdict` rung by rung."""

from .child import Limits
from .ladder import verify

__all__ = ["Limits", "verify"]
