"""Goldens of OVQ attention and the memories it is measured against, by automatic differentiation in double.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/ovq/make.py      # writes tests/goldens/ovq/*.safetensors

memories.safetensors holds linear attention, the delta rule and the gated delta rule (three matrix recurrences written
out), vq.safetensors attention over quantised keys (whole rows of quantised keys, no counts). ovq.safetensors holds for every case the inputs, the output, which row each token went to, and the gradients of
sum(out * weight). One head; rows are tokens. Means are moved as means, counts come in as logarithms.
"""

import math
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "ovq"
torch.set_default_dtype(torch.float64)


def rows_after(t, n, growth, horizon):
    live = {"plateau": (t * n) // (t + n), "greedy": t, "linear": min(t, t * n // horizon) if horizon else 0}[growth]
    return max(1, min(live, n))


def ovq(q, k, v, scale, n_rows, chunk, growth="plateau", horizon=0, bias=True, normalise=False, delta=False):
    tokens, d = q.shape
    means_k, means_v = torch.zeros(n_rows, d), torch.zeros(n_rows, v.shape[1])
    counts, live, outs, assigned = torch.zeros(n_rows), 0, [], []
    for begin in range(0, tokens, chunk):
        end = min(tokens, begin + chunk)
        kc, vc, length = k[begin:end], v[begin:end], end - begin
        keys = means_k[:live]
        if normalise and live:
            keys = keys / keys.norm(dim=1, keepdim=True)
        log_counts = counts[:live].log() if bias else torch.zeros(live)
        logits = torch.cat([scale * q[begin:end] @ keys.T + log_counts, scale * q[begin:end] @ kc.T], 1)
        hidden = torch.zeros(length, live + length, dtype=torch.bool)
        hidden[:, live:] = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        p = logits.masked_fill(hidden, -math.inf).softmax(1)
        outs.append(p @ torch.cat([means_v[:live], vc]))
        if length < chunk:
            break
        after = max(live, rows_after(end, n_rows, growth, horizon))
        with torch.no_grad():
            if live == 0:
                to = torch.zeros(length, dtype=torch.long)
                order = sorted(range(1, length), key=lambda i: (float(kc[i] @ kc[0]), i))[: after - 1]
                first = 1
            else:
                alike = kc @ keys.T
                best, to = alike.max(1)
                order = sorted(range(length), key=lambda i: (float(best[i]), i))[: after - live]
                first = live
            for row, i in enumerate(sorted(order)):
                to[i] = first + row
        target = vc
        if delta and live:
            read = (scale * kc @ keys.T + log_counts).softmax(1) @ means_v[:live]
            target = vc - read
        counts = counts + torch.bincount(to, minlength=n_rows).to(counts)
        rate = (1 / counts[to]).unsqueeze(1)
        step_v = target if delta else target - means_v[to]
        means_k, means_v = (
            means_k.index_add(0, to, rate * (kc - means_k[to])),
            means_v.index_add(0, to, rate * step_v),
        )
        live = after
        assigned += to.tolist()
    return torch.cat(outs), assigned


def unit(x):
    return x / x.norm(dim=1, keepdim=True)


CASES = {
    "plateau": dict(n_rows=12, chunk=8),
    "greedy": dict(n_rows=20, chunk=8, growth="greedy"),
    "linear": dict(n_rows=12, chunk=5, growth="linear", horizon=60),
    "no_bias": dict(n_rows=12, chunk=8, bias=False),
    "normalise": dict(n_rows=12, chunk=8, normalise=True),
    "delta_values": dict(n_rows=12, chunk=8, delta=True),
    "all_options": dict(n_rows=9, chunk=7, growth="greedy", bias=False, normalise=True, delta=True),
    "no_dictionary": dict(n_rows=4, chunk=64),
    "one_row": dict(n_rows=1, chunk=1),
}


def memory(q, k, v, g, beta, correct):
    state, outs = torch.zeros(q.shape[1], v.shape[1]), []
    for t in range(q.shape[0]):
        state = g[t].exp() * state
        u = beta[t] * (v[t] - state.T @ k[t]) if correct else beta[t] * v[t]
        state = state + torch.outer(k[t], u)
        outs.append(state.T @ q[t])
    return torch.stack(outs)


def vq(q, k, v, scale, codes, chunk, commit):
    """The output, and the loss that codebook and keys have besides. Keys of earlier chunks carry no gradient."""
    tokens = q.shape[0]
    z = ((k.unsqueeze(1) - codes.unsqueeze(0)) ** 2).sum(2).argmin(1)
    through = codes.detach()[z] + k - k.detach()
    fixed = codes.detach()[z]
    mine = torch.arange(tokens) // chunk
    same = mine.unsqueeze(1) == mine.unsqueeze(0)
    logits = scale * torch.where(same, q @ through.T, q @ fixed.T)
    logits = logits.masked_fill(torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1), -math.inf)
    loss = ((codes[z] - k.detach()) ** 2).sum(1).mean() + commit * ((k - codes.detach()[z]) ** 2).sum(1).mean()
    return logits.softmax(1) @ v, loss, z


def numpy(t):
    return np.ascontiguousarray(t.detach().numpy())


def with_gradients(leaves, y, besides=0):
    weight = torch.randn_like(y)
    ((y * weight).sum() + besides).backward()
    named = {"out": numpy(y), "weight": numpy(weight)}
    for n, leaf in leaves.items():
        named[n], named["g" + n] = numpy(leaf).reshape(leaf.shape or (1,)), numpy(leaf.grad).reshape(leaf.shape or (1,))
    return named


def others():
    tokens, d, dv = 70, 5, 4
    memories = {}
    for name, decay, rate, correct in (("linear", 0, 0, 0), ("delta", 0, 1, 1), ("gated_delta", 1, 1, 1)):
        leaves = {"q": unit(torch.randn(tokens, d)), "k": unit(torch.randn(tokens, d)), "v": torch.randn(tokens, dv)}
        leaves["g"] = -torch.rand(tokens) * decay
        leaves["beta"] = torch.rand(tokens) if rate else torch.ones(tokens)
        leaves = {n: t.clone().requires_grad_() for n, t in leaves.items()}
        y = memory(*leaves.values(), correct)
        memories.update({f"{name}/{n}": t for n, t in with_gradients(leaves, y).items()})
    leaves = {"q": unit(torch.randn(tokens, d)), "k": unit(torch.randn(tokens, d)), "v": torch.randn(tokens, dv)}
    leaves["scale"], leaves["codes"] = torch.tensor(1.7), torch.randn(11, d) / 2
    leaves = {n: t.clone().requires_grad_() for n, t in leaves.items()}
    y, besides, z = vq(*leaves.values(), chunk=8, commit=0.3)
    quantised = with_gradients(leaves, y, besides)
    quantised["rows"] = z.numpy().astype(np.int32)
    return {"memories": memories, "vq": quantised}


def main():
    torch.manual_seed(2026)
    out = {}
    tokens, d, dv = 53, 6, 5
    for name, options in CASES.items():
        raw = {n: torch.randn(tokens, w) for n, w in (("q", d), ("k", d), ("v", dv))}
        raw["q"], raw["k"] = unit(raw["q"]), unit(raw["k"])
        raw["scale"] = torch.tensor(2.3)
        leaves = {n: t.clone().requires_grad_() for n, t in raw.items()}
        y, assigned = ovq(leaves["q"], leaves["k"], leaves["v"], leaves["scale"], **options)
        weight = torch.randn_like(y)
        (y * weight).sum().backward()
        for n, leaf in leaves.items():
            out[f"{name}/{n}"] = numpy(raw[n]).reshape(-1) if n == "scale" else numpy(raw[n])
            out[f"{name}/g{n}"] = numpy(leaf.grad).reshape(-1) if n == "scale" else numpy(leaf.grad)
        out[f"{name}/out"], out[f"{name}/weight"] = numpy(y), numpy(weight)
        out[f"{name}/rows"] = np.array(assigned or [-1], dtype=np.int32)
    OUT.mkdir(parents=True, exist_ok=True)
    for name, tensors in {"ovq": out, **others()}.items():
        save_file(tensors, OUT / f"{name}.safetensors")
        (OUT / f"{name}.safetensors").chmod(0o644)


if __name__ == "__main__":
    main()
