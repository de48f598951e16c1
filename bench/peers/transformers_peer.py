"""transformers on PyTorch's CPU kernels: transformers_peer.py FOLDER bf16|f32 THREADS.
Attention is run the way transformers chooses by default, experts in its plain loop (the fastest of its three ways
where this was tried); nothing is compiled.
"""
import sys

import torch
import transformers
from worker import serve


class Peer:
    def __init__(self, folder, dtype, threads):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[dtype]
        experts = {"experts_implementation": "eager"} if "zaya" in folder else {}
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=self.dtype, **experts).eval()
        self.vocab = self.model.config.vocab_size

    def info(self):
        c = self.model.config
        return {"name": f"transformers {transformers.__version__}, torch {torch.__version__}",
                "attention": c._attn_implementation, "experts": getattr(c, "_experts_implementation", None)}

    def feed(self, ids):
        self.cache = None
        self._forward(ids)

    def step(self, token):
        self._forward([token])

    def _forward(self, ids):
        out = self.model(torch.tensor([ids]), past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.cache, self.logits = out.past_key_values, out.logits[0, -1]

    def last_logits(self):
        return self.logits.float().tolist()


serve(Peer(sys.argv[1], sys.argv[2], int(sys.argv[3])))
