"""Contents of tensors, where the user asked for them: the first launch of each kind, up to a total size."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Bytes that one process saves.
LARGEST = 1 << 30


class Savings:
    """Writes tensors as raw elements in row-major order, each to a file beside the record."""

    def __init__(self, folder: Path, process: str) -> None:
        self._folder, self._process = folder, process
        self._left = LARGEST

    def save(self, launch: int, named: Mapping[str, Any]) -> dict[str, str]:
        """The files by parameter. Waits for the device; tensors past the total size are left out."""
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        files = {}
        for name, value in named.items():
            if isinstance(value, torch.Tensor) and value.numel() * value.element_size() <= self._left:
                content = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
                self._left -= len(content)
                path = self._folder / f"{self._process}-{launch}-{name}.bin"
                path.write_bytes(content)
                files[name] = path.name
        return files
