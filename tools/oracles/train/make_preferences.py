"""Goldens of the preference losses: TRL's DPOTrainer._compute_loss on given logits, in double.

    python tools/oracles/train/make_preferences.py tests/goldens/preferences

Three pairs of answers behind prompts of different lengths, 11 words. Of each loss: its value, its gradient by the logits,
and what TRL reports of rewards. `conservative` is TRL's `aot` of one pair at a time, where sorting changes nothing: that is
DPO with label smoothing as its paper has it, which TRL's `sigmoid` does not take.
"""
import json
import pathlib
import sys
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import torch
from safetensors.torch import save_file
from trl.trainer.dpo_trainer import DPOTrainer

WORDS, LENGTH, PAIRS = 11, 9, 3
PROMPTS = [2, 3, 1, 4, 3, 2]  # chosen of each pair, then rejected of each
ENDS = [9, 7, 8, 9, 6, 9]


class Head:
    """A model whose logits are given; masked places count nothing, as in TRL's fused head."""

    training = True

    def __init__(self, logits):
        self.logits = logits

    def __call__(self, input_ids, labels, **_):
        logp = torch.log_softmax(self.logits[:, :-1], -1)
        wanted = labels[:, 1:]
        masked = wanted == -100
        token = logp.gather(-1, wanted.clamp(min=0).unsqueeze(-1)).squeeze(-1).masked_fill(masked, 0.0)
        nothing = torch.zeros_like(token)
        return SimpleNamespace(log_probs=token, entropy=nothing, mean_logits=nothing, is_top1=nothing.bool())


class Alone:
    device = "cpu"

    @staticmethod
    def gather(x):
        return x

    gather_for_metrics = gather


def run(logits, ids, mask, reference, kind, smoothing, beta):
    trainer = SimpleNamespace(
        model=Head(logits), accelerator=Alone(), aux_loss_enabled=False, ld_alpha=None, precompute_ref_logps=True,
        f_divergence_type="reverse_kl", loss_types=[kind], loss_weights=[1.0], beta=beta, label_smoothing=smoothing,
        use_weighting=False, _metrics={"train": defaultdict(list)}, _total_train_tokens=0, _tp_size=1)
    chosen, rejected = reference.chunk(2)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "completion_mask": mask,
              "ref_chosen_logps": chosen, "ref_rejected_logps": rejected}
    return DPOTrainer._compute_loss(trainer, trainer.model, inputs, False), trainer._metrics["train"]


def main(out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    rows = 2 * PAIRS
    ids = torch.randint(0, WORDS, (rows, LENGTH))
    mask = torch.zeros_like(ids)
    for i in range(rows):
        mask[i, PROMPTS[i]:ENDS[i]] = 1
    logits = (1.5 * torch.randn(rows, LENGTH, WORDS)).double()
    drift = (0.4 * torch.randn(rows, LENGTH, WORDS)).double()
    labels = ids.masked_fill(mask == 0, -100)
    reference = Head(logits + drift)(ids, labels).log_probs.sum(1)
    tensors = {"ids": ids.int(), "mask": mask.int(), "logits": logits.float(), "reference": reference.float()}
    logits, reference = tensors["logits"].double(), tensors["reference"].double()  # what the test reads
    facts = {}
    for name, kind, smoothing, beta in [("dpo", "sigmoid", 0.0, 0.3), ("ipo", "ipo", 0.0, 0.3),
                                        ("robust", "robust", 0.1, 0.3), ("conservative", "aot", 0.1, 0.3)]:
        x = logits.clone().requires_grad_(True)
        if name == "conservative":
            total = 0
            for p in range(PAIRS):
                at = [p, PAIRS + p]
                loss, _ = run(x[at], ids[at], mask[at], reference[at], kind, smoothing, beta)
                total = total + loss / PAIRS
            metrics = None
        else:
            total, metrics = run(x, ids, mask, reference, kind, smoothing, beta)
        total.backward()
        tensors["grad_" + name] = x.grad.float()
        facts[name] = {"loss": total.item(), "label_smoothing": smoothing, "beta": beta}
        if metrics:
            for theirs, ours in [("rewards/margins", "margin"), ("rewards/accuracies", "accuracy"),
                                 ("rewards/chosen", "chosen"), ("rewards/rejected", "rejected")]:
                facts[name][ours] = metrics[theirs][0]
    save_file({k: v.contiguous() for k, v in tensors.items()}, out / "pairs.safetensors")
    (out / "losses.json").write_text(json.dumps(facts, indent=1) + "\n")
    assert np.isfinite([f["loss"] for f in facts.values()]).all()


if __name__ == "__main__":
    main(sys.argv[1])
