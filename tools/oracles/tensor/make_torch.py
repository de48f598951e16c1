"""Goldens for the reader of torch.save's files: what PyTorch writes, and the same tensors as safetensors.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/tensor/make_torch.py       # writes tests/goldens/torch/ and fuzz seeds

kinds.*       every element type, views with offsets and strides, shared storages, parameters, empty tensors; the form of
              today (.bin), that before PyTorch 1.6 (-old.bin), protocol 4 (.pt); kinds.safetensors holds the values
f8.*          a storage of bytes with an element type, which PyTorch cannot read back from the old form
wrapped.*     a training checkpoint with its state dict under "state_dict"
parallel.bin  the same layer's, compiled and inside DataParallel, whose names are longer for it
model/        a llama of one layer whose embedding and head share a storage: one file, two shards, and safetensors
adapter/      a PEFT adapter as adapter_model.bin, of tests/goldens/adapters/qwen2
hostile/      files that no reader may execute
"""
import collections
import json
import pathlib
import shutil
import zipfile

import torch
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / "tests" / "goldens" / "torch"
SEEDS = ROOT / "tests" / "fuzz" / "seeds" / "torch"


def kinds():
    g = torch.Generator().manual_seed(7)
    x = torch.randn(4, 6, generator=g)
    whole = torch.randint(-100, 100, (3, 5), generator=g)
    tied = torch.randn(5, 4, generator=g)
    s = collections.OrderedDict()
    s["f64"], s["f32"], s["f16"], s["bf16"] = x.double() / 3, x, x.half(), x.bfloat16()
    for name in ("int64", "int32", "int16", "int8"):
        s[name] = whole.to(getattr(torch, name))
    s["uint8"], s["bool"] = (whole + 100).to(torch.uint8), whole > 0
    s["scalar"], s["empty"] = torch.tensor(2.5), torch.zeros(0, 3)
    s["transposed"], s["rows"], s["columns"] = x.t(), x[1:3], x[:, 1:5:2]
    s["permuted"] = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4).permute(2, 0, 1)
    s["short_view"] = whole.to(torch.int16).t()[1:]
    s["embedding"], s["head"], s["half"] = tied, tied, tied[:2]
    s["expanded"] = torch.arange(3.0).expand(4, 3)
    s["parameter"] = torch.nn.Parameter(torch.randn(3, generator=g))
    return s


def contiguous(s):
    s = {k: v.detach().clone().contiguous() for k, v in s.items()}
    for k, v in s.items():
        if v.dtype == torch.int16:
            s[k] = v.int()
    return s


CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": 16,
          "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 32,
          "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
          "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}


def model():
    g = torch.Generator().manual_seed(3)
    layer = "model.layers.0."
    shapes = {"model.embed_tokens": (32, 16), layer + "self_attn.q_proj": (16, 16), layer + "self_attn.k_proj": (8, 16),
              layer + "self_attn.v_proj": (8, 16), layer + "self_attn.o_proj": (16, 16), layer + "mlp.gate_proj": (16, 16),
              layer + "mlp.up_proj": (16, 16), layer + "mlp.down_proj": (16, 16), layer + "input_layernorm": (16,),
              layer + "post_attention_layernorm": (16,), "model.norm": (16,)}
    state = {k + ".weight": torch.randn(v, generator=g) / 2 for k, v in shapes.items()}
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    folder = OUT / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    torch.save(state, folder / "pytorch_model.bin")
    save_file({k: v for k, v in state.items() if k != "lm_head.weight"}, folder / "model.safetensors", {"format": "pt"})
    names = list(state)
    halves = [names[: len(names) // 2], names[len(names) // 2 :]]
    weight_map = {}
    for i, half in enumerate(halves):
        file = f"pytorch_model-{i + 1:05}-of-00002.bin"
        torch.save({k: state[k] for k in half}, folder / file)
        weight_map.update({k: file for k in half})
    index = {"metadata": {"total_size": sum(v.nbytes for v in state.values())}, "weight_map": weight_map}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")


class Command:
    def __reduce__(self):
        import os

        return os.system, ("touch executed",)


class Stateful:
    def __setstate__(self, state):
        raise SystemExit(3)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    SEEDS.mkdir(parents=True, exist_ok=True)
    s = kinds()
    torch.save(s, OUT / "kinds.bin")
    torch.save(s, OUT / "kinds-old.bin", _use_new_zipfile_serialization=False)
    torch.save(s, OUT / "kinds.pt", pickle_protocol=4)
    save_file(contiguous(s), OUT / "kinds.safetensors")
    f8 = {"f8": s["f32"].to(torch.float8_e4m3fn)}
    torch.save(f8, OUT / "f8.bin")
    save_file(f8, OUT / "f8.safetensors")
    layer = torch.nn.Linear(3, 2)
    torch.nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(1))
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.9)
    layer(torch.ones(3)).sum().backward()
    optimizer.step()
    torch.save({"epoch": 3, "loss": 0.5, "name": "run", "optimizer": optimizer.state_dict(),
                "state_dict": layer.state_dict()}, OUT / "wrapped.pt")
    save_file(layer.state_dict(), OUT / "wrapped.safetensors")
    torch.save(torch.nn.DataParallel(torch.compile(layer)).state_dict(), OUT / "parallel.bin")
    model()
    adapter = OUT / "adapter"
    adapter.mkdir()
    shutil.copy(ROOT / "tests/goldens/adapters/qwen2/adapter_config.json", adapter)
    torch.save(load_file(ROOT / "tests/goldens/adapters/qwen2/adapter_model.safetensors"), adapter / "adapter_model.bin")
    hostile = OUT / "hostile"
    hostile.mkdir()
    torch.save({"x": torch.zeros(2), "command": Command()}, hostile / "command.bin")
    torch.save({"command": Command()}, hostile / "command-old.bin", _use_new_zipfile_serialization=False)
    o = Stateful()
    o.a = 1
    torch.save({"x": torch.zeros(2), "o": o}, hostile / "stateful.bin")
    torch.save(layer, hostile / "module.bin")
    torch.save(torch.zeros(3), hostile / "tensor.bin")
    torch.save({"a": {"x": torch.zeros(2)}, "n": 3}, hostile / "nested.bin")
    torch.save({"model": {"x": torch.zeros(2)}, "state_dict": {"x": torch.zeros(2)}}, hostile / "two.bin")
    torch.save({"x": torch.zeros(1).expand(1 << 20, 1 << 20)}, hostile / "expanded.bin")
    torch.save({"x": torch.zeros(3, dtype=torch.complex64)}, hostile / "complex.bin")
    with zipfile.ZipFile(hostile / "script.pt", "w") as z:  # as torch.jit.save lays it out, without its debug records
        for name in ("data.pkl", "constants.pkl", "version"):
            z.writestr(zipfile.ZipInfo(f"script/{name}"), b"\x80\x02}." if name.endswith("pkl") else b"3\n")
    for name in ("kinds.bin", "kinds-old.bin", "kinds.pt", "wrapped.pt"):
        shutil.copy(OUT / name, SEEDS / name)


if __name__ == "__main__":
    main()
