"""llama.cpp through its C interface: llama_cpp_peer.py FILE.gguf THREADS, or … quantize IN OUT SCHEME.
Batches, cache type (f16) and attention are the library's defaults; embedding and head are Q8_0, as Quern's are q8.
"""
import ctypes
import os
import sys

import llama_cpp as L
from worker import serve

FTYPES = {"q8_0": L.LLAMA_FTYPE_MOSTLY_Q8_0, "q4_k": L.LLAMA_FTYPE_MOSTLY_Q4_K_S}


class Peer:
    def __init__(self, path, threads):
        m = L.llama_model_default_params()
        self.model = L.llama_model_load_from_file(path.encode(), m)
        c = L.llama_context_default_params()
        c.n_ctx, c.n_batch = 4096, 2048
        c.n_threads = c.n_threads_batch = threads
        self.context = L.llama_init_from_model(self.model, c)
        if not self.model or not self.context:
            raise SystemExit(f"{path}: llama.cpp does not load it")
        self.vocab = L.llama_vocab_n_tokens(L.llama_model_get_vocab(self.model))

    def info(self):
        # Of a hybrid this is not the cache: its caller knows better.
        n = L.llama_model_n_layer(self.model) * L.llama_model_n_head_kv(self.model)
        width = L.llama_model_n_embd(self.model) // L.llama_model_n_head(self.model)
        return {"name": f"llama-cpp-python {L.__version__}", "system": L.llama_print_system_info().decode().strip(),
                "weight_bytes": L.llama_model_size(self.model), "cache_bytes_per_position": 2 * 2 * n * width}

    def feed(self, ids):
        L.llama_memory_clear(L.llama_get_memory(self.context), False)
        self._decode(ids)

    def step(self, token):
        self._decode([token])

    def _decode(self, ids):
        tokens = (L.llama_token * len(ids))(*ids)
        code = L.llama_decode(self.context, L.llama_batch_get_one(tokens, len(ids)))
        if code:
            raise SystemExit(f"llama_decode of {len(ids)} tokens returned {code}")
        L.llama_synchronize(self.context)

    def last_logits(self):
        return list(L.llama_get_logits_ith(self.context, -1)[:self.vocab])


if sys.argv[1] == "quantize":
    params = L.llama_model_quantize_default_params()
    params.ftype, params.nthread, params.output_tensor_type = FTYPES[sys.argv[4]], os.cpu_count(), L.GGML_TYPE_Q8_0
    params.token_embedding_type = L.GGML_TYPE_Q8_0
    code = L.llama_model_quantize(sys.argv[2].encode(), sys.argv[3].encode(), ctypes.byref(params))
    if code:
        raise SystemExit(f"llama_model_quantize({sys.argv[2]}) returned {code}")
else:
    serve(Peer(sys.argv[1], int(sys.argv[2])))
