// Converts GGUF metadata to config.json, tensor names to Hugging Face's, and rows to their order: for architecture
// llama the file stores the rows of the query and key projections so that rotary pairs are adjacent,
//   file row h·d + 2j + s  =  row h·d + s·d/2 + j  here,   s in {0, 1}, j < d/2;
// qwen2 and qwen3 are stored in the same order as here.
#include "quern/models/gguf_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"

namespace quern::models {
namespace {

// Keys of an architecture that need no reading, or that the vocabulary and the tensors tell as well.
constexpr std::string_view kHarmless[] = {"vocab_size", "tensor_data_layout", "expert_used_count",
                                          "rope.scaling.original_context_length", "rope.scaling.finetuned"};

class Metadata {
 public:
  explicit Metadata(const GgufFile& f) : file_(f) {
    arch_ = text("general.architecture", true);
    if (arch_ != "llama" && arch_ != "qwen2" && arch_ != "qwen3")
      fail("{}: '{}' is not supported, expected llama, qwen2 or qwen3", where("general.architecture"), arch_);
  }
  const std::string& arch() const { return arch_; }
  std::string where(const std::string& key) const {
    return fmt::format("{}, metadata '{}'", file_.path().string(), key);
  }
  const Json* find(const std::string& key) {
    known_.insert(key);
    auto it = file_.metadata().find(key);
    return it == file_.metadata().end() ? nullptr : &it->second;
  }
  // The value of <architecture>.<key>; null when absent.
  const Json* own(const std::string& key) { return find(arch_ + "." + key); }
  int64_t whole(const std::string& key) {
    const Json* j = own(key);
    if (!j) fail("{} is missing", where(arch_ + "." + key));
    return j->as_int(where(arch_ + "." + key));
  }
  int64_t whole(const std::string& key, int64_t otherwise) { return own(key) ? whole(key) : otherwise; }
  double real(const std::string& key, double otherwise) {
    const Json* j = own(key);
    return j ? j->as_double(where(arch_ + "." + key)) : otherwise;
  }
  std::string text(const std::string& key, bool required = false) {
    const Json* j = find(key);
    if (!j && required) fail("{} is missing", where(key));
    return j ? j->as_string(where(key)) : "";
  }
  // Any other key of the architecture may change what the model computes.
  void refuse_others() const {
    for (const auto& [key, value] : file_.metadata())
      if (key.starts_with(arch_ + ".") && !known_.count(key) &&
          std::find(std::begin(kHarmless), std::end(kHarmless), key.substr(arch_.size() + 1)) == std::end(kHarmless))
        fail("{}: {} is not supported and may change what the model computes", where(key),
             value.is_array() ? "a list" : value.dump());
  }

 private:
  const GgufFile& file_;
  std::string arch_;
  std::set<std::string> known_;
};

// YaRN as llama.cpp computes it: the attention factor is what the file says times the usual one.
Json yarn(Metadata& m, double factor) {
  if (!(factor > 0)) fail("{}: {} is not positive", m.where(m.arch() + ".rope.scaling.factor"), factor);
  if (const double mix = m.real("rope.scaling.yarn_ext_factor", 1); mix >= 0 && mix != 1)  // < 0: as usual
    fail("{}: {} is not supported, expected 1", m.where(m.arch() + ".rope.scaling.yarn_ext_factor"), mix);
  if (const double a = m.real("rope.scaling.yarn_attn_factor", 1); a != 1)
    fail("{}: {} is not supported, expected 1", m.where(m.arch() + ".rope.scaling.yarn_attn_factor"), a);
  Json r = Json::object();
  r.set("rope_type", "yarn");
  r.set("factor", factor);
  r.set("original_max_position_embeddings",
        m.whole("rope.scaling.original_context_length", m.whole("context_length")));
  r.set("beta_fast", m.real("rope.scaling.yarn_beta_fast", 32));
  r.set("beta_slow", m.real("rope.scaling.yarn_beta_slow", 1));
  r.set("attention_factor", m.real("rope.scaling.attn_factor", 1) * (1 + (factor > 1 ? 0.1 * std::log(factor) : 0)));
  return r;
}

Json rope(Metadata& m, const GgufFile& f, int64_t head_dim) {
  if (const int64_t d = m.whole("rope.dimension_count", head_dim); d != head_dim)
    fail("{}: {}, expected all {} of a head", m.where(m.arch() + ".rope.dimension_count"), d, head_dim);
  const std::string key = m.arch() + ".rope.scaling.type", kind = m.text(key);
  const double factor = m.real("rope.scaling.factor", m.real("rope.scale_linear", 1));
  const bool factors = f.entries().count("rope_freqs.weight") > 0;
  if (!kind.empty() && kind != "none" && kind != "linear" && kind != "yarn")
    fail("{}: '{}' is not supported, expected none, linear or yarn", m.where(key), kind);
  if (kind == "yarn") {
    if (factors) fail("{}: 'yarn' with a table of factors (rope_freqs.weight) is not supported", m.where(key));
    Json r = yarn(m, factor);
    r.set("rope_theta", m.real("rope.freq_base", 1e4));
    return r;
  }
  if (const double a = m.real("rope.scaling.attn_factor", 1); a != 1)
    fail("{}: {} is not supported, expected 1", m.where(m.arch() + ".rope.scaling.attn_factor"), a);
  Json r = Json::object();
  r.set("rope_theta", m.real("rope.freq_base", 1e4));
  const bool linear = kind != "none" && factor != 1 && factor != 0;
  r.set("rope_type", factors ? "quern_factors" : linear ? "linear" : "default");
  if (factors) {
    const Tensor t = f.tensor("rope_freqs.weight");
    Json list = Json::array();
    for (int64_t i = 0; i < t.size(); ++i) list.push(t.item(i) * (linear ? factor : 1));
    r.set("factors", list);
  } else if (linear) {
    r.set("factor", factor);
  }
  return r;
}

const Shape& matrix(const GgufFile& f, const std::string& name) {
  auto it = f.entries().find(name);
  if (it == f.entries().end()) fail("{}: tensor '{}' is missing", f.path().string(), name);
  if (it->second.shape.size() != 2)
    fail("{}, tensor '{}', shape: {}, expected a matrix", f.path().string(), name, to_string(it->second.shape));
  return it->second.shape;
}

// "blk.3.attn_q.weight" → "model.layers.3.self_attn.q_proj.weight"; an unknown name stays as it is.
std::string hf_name(const std::string& name) {
  if (name == "token_embd.weight") return "model.embed_tokens.weight";
  if (name == "output.weight") return "lm_head.weight";
  if (name == "output_norm.weight") return "model.norm.weight";
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"attn_norm", "input_layernorm"},    {"ffn_norm", "post_attention_layernorm"},
      {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
      {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
      {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"}};
  if (!name.starts_with("blk.")) return name;
  const size_t part_at = name.find('.', 4), kind_at = name.rfind('.');
  if (part_at == name.npos || kind_at <= part_at) return name;
  const std::string_view all(name), part = all.substr(part_at + 1, kind_at - part_at - 1);
  for (const auto& [theirs, ours] : kParts)
    if (part == theirs)
      return fmt::format("model.layers.{}.{}{}", all.substr(4, part_at - 4), ours, all.substr(kind_at));
  return name;
}

// Rows (elements of a bias) of heads with neighboring rotary pairs, put back in halves.
Tensor halves(const Tensor& t, int64_t heads) {
  const int64_t rows = t.dim(0), row_bytes = t.bytes() / rows, d = rows / heads;
  Tensor out = Tensor::empty(t.shape(), t.dtype());
  const auto* from = static_cast<const std::byte*>(t.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t s = 0; s < 2; ++s)
      for (int64_t j = 0; j < d / 2; ++j)
        std::memcpy(to + (h * d + s * (d / 2) + j) * row_bytes, from + (h * d + 2 * j + s) * row_bytes,
                    static_cast<size_t>(row_bytes));
  return out;
}

}  // namespace

Json gguf_config(const GgufFile& f) {
  Metadata m(f);
  if (const std::string type = m.text("general.type"); !type.empty() && type != "model")
    fail("{}: '{}', expected model", m.where("general.type"), type);
  if (const Json* parts = m.find("split.count"); parts && parts->as_int(m.where("split.count")) > 1)
    fail("{}: a file in {} parts is not supported, join them first", m.where("split.count"), parts->as_int());
  if (const int64_t e = m.whole("expert_count", 0); e != 0)
    fail("{}: {} experts are not supported", m.where(m.arch() + ".expert_count"), e);
  const Json* causal = m.own("attention.causal");
  if (causal && !causal->as_bool(m.where(m.arch() + ".attention.causal")))
    fail("{}: false is not supported, expected true", m.where(m.arch() + ".attention.causal"));

  Json j = Json::object();
  const int64_t window = m.whole("attention.sliding_window", 0), layers = m.whole("block_count");
  const int64_t width = m.whole("embedding_length"), heads = m.whole("attention.head_count");
  if (heads < 1) fail("{}: {}, expected at least 1", m.where(m.arch() + ".attention.head_count"), heads);
  const int64_t head_dim = m.whole("attention.key_length", width / heads);
  if (const int64_t v = m.whole("attention.value_length", head_dim); v != head_dim)
    fail("{}: {}, expected {} as attention.key_length", m.where(m.arch() + ".attention.value_length"), v, head_dim);
  j.set("model_type", m.arch() == "llama" && window > 0 ? "mistral" : m.arch());
  const Shape embedding = matrix(f, "token_embd.weight");
  j.set("vocab_size", embedding[0]);
  j.set("hidden_size", width);
  j.set("intermediate_size", m.whole("feed_forward_length"));
  j.set("num_hidden_layers", layers);
  j.set("num_attention_heads", heads);
  j.set("num_key_value_heads", m.whole("attention.head_count_kv", heads));
  j.set("head_dim", head_dim);
  j.set("max_position_embeddings", m.whole("context_length"));
  j.set("rms_norm_eps", m.real("attention.layer_norm_rms_epsilon", 1e-5));
  j.set("hidden_act", "silu");
  j.set("tie_word_embeddings", f.entries().count("output.weight") == 0);
  j.set("attention_bias", f.entries().count("blk.0.attn_q.bias") > 0);
  j.set("mlp_bias", f.entries().count("blk.0.ffn_gate.bias") > 0);
  j.set("rope_parameters", rope(m, f, head_dim));
  if (window > 0) {
    if (layers > 4096) fail("{}: {} blocks", m.where(m.arch() + ".block_count"), layers);
    j.set("sliding_window", window);
    j.set("layer_types", Json(Json::Array(static_cast<size_t>(std::max<int64_t>(layers, 0)), "sliding_attention")));
  }
  m.refuse_others();
  for (const auto& [key, name] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                  {"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                  {"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (const Json* id = m.find(key)) j.set(name, id->as_int(m.where(key)));
  return j;
}

TensorFolder gguf_weights(const std::shared_ptr<const GgufFile>& file, DType unpacked) {
  const Json config = gguf_config(*file);
  const bool paired = file->metadata().at("general.architecture").as_string() == "llama";
  const int64_t heads = config.at("num_attention_heads").as_int(), kv = config.at("num_key_value_heads").as_int();
  std::map<std::string, TensorFolder::Entry> entries;
  for (const auto& [name, e] : file->entries()) {
    if (name == "rope_freqs.weight") continue;  // read already
    const std::string hf = hf_name(name);
    const int64_t turned = !paired                          ? 0
                           : hf.find(".q_proj.") != hf.npos ? heads
                           : hf.find(".k_proj.") != hf.npos ? kv
                                                            : 0;
    if (turned && (e.shape.empty() || turned < 1 || e.shape[0] % (2 * turned) != 0))
      fail("{}, tensor '{}', shape: {} is not whole pairs of {} heads", file->path().string(), name,
           to_string(e.shape), turned);
    const bool unpack = e.shape.size() > 1 && e.type != GgufType::f32 && e.type != GgufType::bf16;
    auto read = [file, name = name, turned, unpack, unpacked] {
      Tensor t = file->tensor(name);
      if (unpack) t = t.to(unpacked);
      return turned && t.size() > 0 ? halves(t, turned) : t;
    };
    const bool fresh = entries
                           .emplace(hf, TensorFolder::Entry{gguf_format(static_cast<uint32_t>(e.type))->name, e.shape,
                                                            static_cast<int64_t>(e.end - e.begin), read})
                           .second;
    if (!fresh) fail("{}: two tensors are called '{}'", file->path().string(), hf);
  }
  return TensorFolder(file->path(), std::move(entries));
}

}  // namespace quern::models
