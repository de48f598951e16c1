"""Goldens for the credit rules of leaky stacks.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/learn/eprop.py      # writes tests/goldens/learn/eprop.json

A stack of three layers with biases, losses at several steps, and the gradients of its rules by automatic
differentiation: a rule is a forward pass of the same values in which some paths carry no derivative. Also the spectral
radius of a matrix, by numpy.
"""
import json
import pathlib
import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "learn" / "eprop.json"
N, D, C, T, B = 4, 3, 3, 6, 5
LEAK = [0.5, 0.2, 0.1]


def forward(p, x, label, rule, learnt):
    """The loss as rule sees it; of layer `learnt` alone the gradient is meant (all of them under bptt and full)."""
    h = [torch.zeros(N, B, dtype=torch.float64) for _ in LEAK]
    loss = 0
    for t in range(T):
        below = x[t]
        for l, leak in enumerate(LEAK):
            W, F, b = p[l]
            old = h[l]
            if rule == "no-carry" or (rule == "ablate-temporal" and l > learnt):
                old = old.detach()
            if rule == "bptt":
                rec = W @ old
            else:
                rec = W @ old.detach() + torch.diag(W).detach()[:, None] * (old - old.detach())
            if rule == "ablate-spatial":
                below = below.detach()
            h[l] = (1 - leak) * old + leak * torch.tanh(rec + F @ below + b[:, None])
            below = h[l]
        V, c = p[-1]
        asked = label[t] >= 0
        if asked.any():
            logits = (V @ below + c[:, None]).T[asked]
            loss = loss + torch.nn.functional.cross_entropy(logits, label[t][asked], reduction="sum") / B
    return loss


def gradients(p, x, label, rule):
    out = []
    for learnt in range(len(LEAK)):
        loss = forward(p, x, label, rule, learnt)
        g = torch.autograd.grad(loss, p[learnt], allow_unused=True)
        out.append([(torch.zeros_like(w) if d is None else d).tolist() for w, d in zip(p[learnt], g)])
    loss = forward(p, x, label, rule, 0)
    return {"layers": out, "readout": [d.tolist() for d in torch.autograd.grad(loss, p[-1])], "loss": loss.item()}


def main():
    g = torch.Generator().manual_seed(7)
    draw = lambda *s: torch.randn(*s, generator=g, dtype=torch.float64)
    p = [[draw(N, N) * 0.6, draw(N, D if l == 0 else N), draw(N) * 0.3] for l in range(len(LEAK))]
    p.append([draw(C, N), draw(C)])
    for w in sum(p, []):
        w.requires_grad_()
    x = draw(T, D, B)
    label = torch.randint(-1, C, (T, B), generator=g)
    label[1] = -1
    matrix = np.random.default_rng(3).normal(size=(9, 9))
    out = {
        "leak": LEAK, "x": x.tolist(), "label": label.tolist(),
        "weights": [[w.tolist() for w in layer] for layer in p],
        "rules": {r: gradients(p, x, label, r)
                  for r in ("bptt", "full", "ablate-temporal", "ablate-spatial", "no-carry")},
        "matrix": matrix.tolist(), "radius": float(np.abs(np.linalg.eigvals(matrix)).max()),
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(out) + "\n")


main()
