"""A project's tests of its kernels, with the two fixtures that come with tlxify. No GPU is needed."""

from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"


def test_the_conversion_is_right(tlxify_equivalent):
    # The sidecar that `tlxify convert --write` left beside the source, as it stands.
    tlxify_equivalent(KERNELS / "matmul.py", KERNELS / "matmul_tlx.py")


def test_the_faster_version_is_right(tlxify_equivalent):
    # Any second version of a kernel, plain Triton or TLX; K is what the model uses, whatever else would be legal.
    tlxify_equivalent(
        KERNELS / "scale.py",
        KERNELS / "scale_fast.py",
        kernel="scale_kernel",
        contract={"n": "multiple_of(64)"},
    )
