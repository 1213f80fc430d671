"""The stand-in for a chip that the launcher's own tests use."""

from tests.tlx.launch.conftest import hopper_driver

__all__ = ["hopper_driver"]
