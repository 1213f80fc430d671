"""A small training loop with kernels of liger-kernel: RMS norm (no dot) and neighbourhood attention (dots, both ways).

    tlxify capture -o training.jsonl -- python benchmarks/training.py --steps 20

liger-kernel must be importable. Without a GPU it runs in Triton's interpreter: TRITON_INTERPRET=1, tiny sizes.
"""

from __future__ import annotations

import argparse

import torch
from liger_kernel.ops.fused_neighborhood_attention import LigerFusedNeighborhoodAttentionFunction as Attention
from liger_kernel.ops.rms_norm import LigerRMSNormFunction as Norm


class Block(torch.nn.Module):
    """Norm, attention to the neighbourhood, projection, with a residual."""

    def __init__(self, heads: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.heads = heads
        self.scale = torch.nn.Parameter(torch.ones(width, dtype=dtype))
        self.project = torch.nn.Linear(width, 3 * width, bias=False, dtype=dtype)

    def forward(self, x):
        batch, length, width = x.shape
        normed = Norm.apply(x, self.scale, 1e-6, 0.0, "llama", False)
        heads = self.project(normed).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        return x + Attention.apply(query, key, value, 7, 1).transpose(1, 2).reshape(x.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--width", type=int, default=512)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(options.heads, options.width, torch.bfloat16) for _ in range(2)))
    model.to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(options.steps):
        x = torch.randn(options.batch, options.length, options.width, device=options.device, dtype=torch.bfloat16)
        loss = (model(x) - x.roll(1, 1)).float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{options.steps} steps, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
