"""Goldens for the credit rules of stacks that spike.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/learn/spiking.py    # writes tests/goldens/learn/spiking.json

Three layers of leaky integrate-and-fire units, half of which adapt, and a readout that sees a trace of the top layer's
spikes; losses at several steps, and the gradients of the rules by automatic differentiation: the step function has a
triangle for a derivative, and a rule is a forward pass of the same values in which some paths carry none.
"""
import json
import math
import pathlib
import torch

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "learn" / "spiking.json"
N, D, C, T, B = 4, 3, 3, 9, 5
LEAK = [0.5, 0.2, 0.1]
THETA, GAMMA, ADAPT_STEPS, STRENGTH, KEEP = 0.6, 0.3, 5.0, 1.7, 0.8
RHO = math.exp(-1 / ADAPT_STEPS)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, over):
        ctx.save_for_backward(over)
        return (over > 0).to(over.dtype)

    @staticmethod
    def backward(ctx, grad):
        over, = ctx.saved_tensors
        return grad * GAMMA / THETA * torch.clamp(1 - over.abs() / THETA, min=0)


def forward(p, x, label, rule, learnt, spikes=None):
    """The loss as the rule sees it; of layer `learnt` alone the gradient is meant (all of them under bptt and full)."""
    zero = lambda: torch.zeros(N, B, dtype=torch.float64)
    v, a, z = ([zero() for _ in LEAK] for _ in range(3))
    seen, loss = zero(), 0
    for t in range(T):
        below = x[t]
        for l, leak in enumerate(LEAK):
            W, F, b = p[l]
            beta = torch.zeros(N, 1, dtype=torch.float64)
            beta[N // 2:] = STRENGTH * (1 - RHO) / leak
            vo, ao, zo = v[l], a[l], z[l]
            if rule == "no-carry" or (rule == "ablate-temporal" and l > learnt):
                vo, ao, zo = vo.detach(), ao.detach(), zo.detach()
            if rule == "bptt":
                rec = W @ zo
            else:
                rec = W @ zo.detach() + torch.diag(W).detach()[:, None] * (zo - zo.detach())
            if rule == "ablate-spatial":
                below = below.detach()
            v[l] = (1 - leak) * vo + rec + F @ below + b[:, None] - THETA * zo.detach()
            a[l] = RHO * ao + zo
            z[l] = Spike.apply(v[l] - THETA - beta * a[l])
            below = z[l]
        seen = KEEP * seen + (1 - KEEP) * below
        if spikes is not None:
            spikes.append([float(q.detach().mean()) for q in z])
        V, c = p[-1]
        asked = label[t] >= 0
        if asked.any():
            logits = (V @ seen + c[:, None]).T[asked]
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
    g = torch.Generator().manual_seed(11)
    draw = lambda *s: torch.randn(*s, generator=g, dtype=torch.float64)
    p = [[draw(N, N) * 0.6, draw(N, D if l == 0 else N) * 0.9, 0.2 + draw(N) * 0.2] for l in range(len(LEAK))]
    p.append([draw(C, N), draw(C)])
    for w in sum(p, []):
        w.requires_grad_()
    x = draw(T, D, B)
    label = torch.randint(-1, C, (T, B), generator=g)
    label[1] = -1
    spikes = []
    forward(p, x, label, "bptt", 0, spikes)
    rates = [sum(s[l] for s in spikes) / T for l in range(len(LEAK))]
    assert all(0.1 < r < 0.9 for r in rates), rates
    out = {
        "leak": LEAK, "threshold": THETA, "damping": GAMMA, "adapt_steps": ADAPT_STEPS, "adapt_strength": STRENGTH,
        "readout_keep": KEEP, "rates": rates, "x": x.tolist(), "label": label.tolist(),
        "weights": [[w.tolist() for w in layer] for layer in p],
        "rules": {r: gradients(p, x, label, r)
                  for r in ("bptt", "full", "ablate-temporal", "ablate-spatial", "no-carry")},
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(out) + "\n")
    print("rates", rates)


main()
