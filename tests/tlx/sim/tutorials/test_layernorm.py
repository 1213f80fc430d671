"""The layer norms that reduce a row over the CTAs of a cluster: right on every schedule, with nothing to find."""

import numpy as np
import pytest

import tlx

from ..launch import SCHEDULES
from .wheel import load, needs_wheel

pytestmark = needs_wheel

KERNELS = {
    "blackwell-multi-cta-layernorm_test.py": "kernel_layernorm_multi_cta",
    "blackwell_multi_cta_layernorm_ws_test.py": "kernel_layernorm_multi_cta_ws",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", KERNELS)
@pytest.mark.parametrize(("ctas", "rows"), [(2, 7), (4, 7), (2, 19)])
def test_layernorm(file, schedule, ctas, rows):
    columns = 120
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((rows, columns), columns, columns))
    y, mean, rstd = np.zeros_like(x), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    args = (x, y, w, b, mean, rstd, columns, rows, columns, 1e-5)
    constants = {
        "BLOCK_SIZE_M": 2, "BLOCK_SIZE_N": 128 // ctas, "num_reduction_ctas": ctas, "SHOULD_MASK_ROW": True,
        "SHOULD_MASK_COL": True, "ctas_per_cga": (1, ctas, 1),
    }  # fmt: skip
    grid = (2 if "_ws_" in file else -(-rows // 2), ctas)  # the other loops over rows by itself
    report = tlx.sim.run(getattr(load(file), KERNELS[file]), grid, args, constants, schedule=schedule)
    report.raise_for_findings()
    wide = x.astype(np.float32)
    center = wide.mean(1)
    scale = 1 / np.sqrt(wide.var(1) + 1e-5)
    np.testing.assert_allclose(mean, center, atol=1e-5)
    np.testing.assert_allclose(rstd, scale, rtol=1e-4)
    wanted = (wide - center[:, None]) * scale[:, None] * w.astype(np.float32) + b.astype(np.float32)
    np.testing.assert_allclose(y, wanted, rtol=2e-3, atol=4e-3)
