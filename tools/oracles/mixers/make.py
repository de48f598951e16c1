"""Golden for attention over ranks: softmax attention in double precision and its gradients, by automatic differentiation.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/mixers/make.py       # writes tests/goldens/rank-attention/

attention.safetensors: q [31, 4, 8] (the last of 31 queries sees all keys), k and v [31, 2, 8] of one sequence, the scale 1/sqrt(8);
o and lse of causal attention, and gq, gk, gv for the output gradients go.
"""
import pathlib
import torch
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "rank-attention"


def main():
    torch.manual_seed(5)
    n, heads, kv, d = 31, 4, 2, 8
    q = torch.randn(n, heads, d, dtype=torch.float64, requires_grad=True)
    k, v = (torch.randn(n, kv, d, dtype=torch.float64, requires_grad=True) for _ in range(2))
    go = torch.randn(n, heads, d, dtype=torch.float64)
    wide = [x.repeat_interleave(heads // kv, dim=1) for x in (k, v)]
    scores = torch.einsum("ihd,jhd->hij", q, wide[0]) / d**0.5
    scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    o = torch.einsum("hij,jhd->ihd", scores.softmax(-1), wide[1])
    gq, gk, gv = torch.autograd.grad(o, [q, k, v], go)
    save_file({name: x.detach().contiguous() for name, x in
               {"q": q, "k": k, "v": v, "go": go, "o": o, "lse": scores.logsumexp(-1).T, "gq": gq, "gk": gk, "gv": gv}.items()},
              OUT / "attention.safetensors")


OUT.mkdir(parents=True, exist_ok=True)
main()
