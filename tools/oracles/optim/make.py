"""Goldens for the optimizers.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/optim/make.py       # writes tests/goldens/optim/

adamw.safetensors: five steps of torch.optim.AdamW (f32) on random gradients: g0…g4, w0 the start, w1…w5 the values.
muon.safetensors: four Muon steps from the published formulas, in f64: a standing and a lying matrix, with and without
Nesterov momentum, both scales; and Newton-Schulz alone on matrices of given condition (f64 and torch's bf16).
"""
import math
import pathlib
import torch
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "optim"
A, B, C = 3.4445, -4.7750, 2.0315


def newton_schulz(g, steps=5, dtype=torch.float64):
    x = (g / (g.norm() + 1e-7)).to(dtype)
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    for _ in range(steps):
        a = x @ x.T
        x = A * x + (B * a + C * a @ a) @ x
    return (x.T if turned else x).to(torch.float64)


def muon(w, gradients, lr, mu, nesterov, decay, scale):
    m, out = torch.zeros_like(w), []
    for g in gradients:
        m = mu * m + g
        u = (g + mu * m if nesterov else m) if mu else g
        rows, columns = w.shape
        by = 0.2 * math.sqrt(max(rows, columns)) if scale == "rms" else math.sqrt(max(1, rows / columns))
        w = (1 - lr * decay) * w - lr * by * newton_schulz(u)
        out.append(w)
    return out


def conditioned(rows, columns, condition):
    r = min(rows, columns)
    u, _ = torch.linalg.qr(torch.randn(rows, r, dtype=torch.float64))
    v, _ = torch.linalg.qr(torch.randn(columns, r, dtype=torch.float64))
    return u @ torch.diag(torch.logspace(0, -math.log10(condition), r, dtype=torch.float64)) @ v.T


def main():
    torch.manual_seed(20)
    OUT.mkdir(parents=True, exist_ok=True)
    f32 = lambda t: t.to(torch.float32).contiguous()

    w = torch.nn.Parameter(torch.randn(9, 31))
    opt = torch.optim.AdamW([w], lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    save = {"w0": w.detach().clone()}
    for k in range(5):
        w.grad = torch.randn_like(w) * 10 ** -k
        save[f"g{k}"] = w.grad.clone()
        opt.step()
        save[f"w{k + 1}"] = w.detach().clone()
    save_file(save, OUT / "adamw.safetensors")

    save = {}
    for name, shape in {"standing": (24, 10), "lying": (7, 33)}.items():
        start = f32(torch.randn(shape)).double()
        gs = [f32(torch.randn(shape)).double() for _ in range(4)]
        save[f"{name}.w0"] = f32(start)
        for k, g in enumerate(gs):
            save[f"{name}.g{k}"] = f32(g)
        for variant, (mu, nesterov, scale) in {
            "nesterov": (0.95, True, "rms"), "heavy": (0.95, False, "rms"), "bare": (0.0, True, "rms"),
            "jordan": (0.95, True, "jordan")}.items():
            for k, value in enumerate(muon(start, gs, 0.02, mu, nesterov, 0.1, scale)):
                save[f"{name}.{variant}.w{k + 1}"] = f32(value)
    for shape, condition in [((48, 80), 10), ((80, 48), 100), ((64, 64), 1000)]:
        name = f"ns.{shape[0]}x{shape[1]}.{condition}"
        g = f32(conditioned(*shape, condition))
        save[f"{name}.in"] = g
        save[f"{name}.out"] = f32(newton_schulz(g.double()))
    save_file(save, OUT / "muon.safetensors")


main()
