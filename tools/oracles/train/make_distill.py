"""Goldens of the distillation losses: PyTorch on given logits, in double.

    python tools/oracles/train/make_distill.py tests/goldens/distill

Six tokens of 11 words, two of them without a target. Of each case: the loss (a mean over the targets) and its gradient by
the student's logits.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

TOKENS, WORDS = 6, 11
CASES = {
    "forward": dict(direction="forward"),
    "forward_hot": dict(direction="forward", temperature=2.5),
    "forward_mixed": dict(direction="forward", temperature=1.7, weight=0.3),
    "forward_top": dict(direction="forward", temperature=1.3, weight=0.8, top=4),
    "reverse": dict(direction="reverse"),
    "reverse_hot": dict(direction="reverse", temperature=2.5),
    "reverse_mixed": dict(direction="reverse", temperature=0.7, weight=0.6),
    "reverse_top": dict(direction="reverse", temperature=1.3, top=1),
}


def grouped(log_p, kept):
    """Log-probabilities of the kept words, and of all others as one."""
    own = log_p.gather(-1, kept)
    rest = log_p.scatter(-1, kept, -torch.inf).logsumexp(-1, keepdim=True)
    return torch.cat([own, rest], -1)


def loss_of(student, teacher, targets, direction, temperature=1.0, weight=1.0, top=0):
    log_p = torch.log_softmax(teacher / temperature, -1)
    log_q = torch.log_softmax(student / temperature, -1)
    if top:
        kept = teacher.topk(top, -1).indices
        log_p, log_q = grouped(log_p, kept), grouped(log_q, kept)
    first, second = (log_p, log_q) if direction == "forward" else (log_q, log_p)
    kl = torch.nn.functional.kl_div(second, first, log_target=True, reduction="none").sum(-1)
    learned = targets >= 0
    cross = torch.nn.functional.cross_entropy(student, targets.clamp(min=0), reduction="none")
    each = weight * temperature**2 * kl + (1 - weight) * cross
    return each[learned].mean()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    g = torch.Generator().manual_seed(11)
    student = (2 * torch.randn(TOKENS, WORDS, generator=g)).float()
    teacher = (3 * torch.randn(TOKENS, WORDS, generator=g)).float()
    targets = torch.tensor([3, -1, 0, 10, 7, -1])
    tensors, losses = {"student": student, "teacher": teacher, "targets": targets.int()}, {}
    for name, case in CASES.items():
        x = student.double().requires_grad_()
        loss = loss_of(x, teacher.double(), targets, **case)
        loss.backward()
        losses[name] = {"direction": case["direction"], "temperature": case.get("temperature", 1.0),
                        "weight": case.get("weight", 1.0), "top": case.get("top", 0), "loss": loss.item()}
        tensors["grad_" + name] = x.grad.float().contiguous()
    save_file(tensors, out / "logits.safetensors")
    (out / "losses.json").write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    main()
