#include "quern/models/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <fstream>

#include "quern/base/config.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/gguf/gguf_model.h"
#include "quern/gguf/gguf_tokenizer.h"
#include "quern/models/adapter.h"
#include "quern/models/config_file.h"
#include "quern/models/quantized_file.h"
#include "quern/tensor/weight_files.h"

namespace quern::models {
namespace {

std::string model_type(const Json& config) {
  return config.at("model_type", "config.json").as_string("config.json, model_type");
}

void read_ids(const Json& j, const char* key, const std::string& where, std::vector<int64_t>& out) {
  const Json* v = j.find(key);
  if (!v || v->is_null()) return;
  out.clear();
  if (v->is_array()) {
    for (const Json& x : v->as_array()) out.push_back(x.as_int(where + ", " + key));
  } else {
    out.push_back(v->as_int(where + ", " + key));
  }
}

// The sampling settings that a generation_config.json may have. Ranges are checked when the settings are used.
struct ModelSettingsReader {
  ConfigReader& reader;
  template <class T>
  void operator()(const char* name, T& field, const char* help, const Setting& s) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
      if (s.in_model != InModel::no) reader(name, field, help);
  }
};
struct ModelSettingsWriter {
  Json& json;
  bool sampled;  // without it transformers refuses the settings that need it; a penalty of 1 is none
  template <class T>
  void operator()(const char* name, const T& field, const char*, const Setting& s) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
      if ((s.in_model == InModel::sampled && sampled) || (s.in_model == InModel::always && field != T{1}))
        json.set(name, field);
  }
};

nn::WeightPrepacking packing_of(const LoadOptions& o) {
  const kernels::QuantFormat body = o.scheme.value_or(kernels::QuantFormat(o.dtype));
  const kernels::QuantFormat same_or_q8 = body.quantized() ? kernels::QuantFormat(kernels::WeightFormat::q8) : body;
  return nn::WeightPrepacking(body, o.head.value_or(same_or_q8), o.hook);
}

// A file's companions lie in its folder. A file is a GGUF unless it is called as those of PyTorch are.
bool is_file(const std::filesystem::path& model) { return std::filesystem::is_regular_file(model); }
bool is_gguf(const std::filesystem::path& model) {
  if (!is_file(model) || !is_torch_file(model)) return is_file(model);
  char magic[4] = {};
  std::ifstream(model, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}
std::filesystem::path companions(const std::filesystem::path& model) {
  if (!is_file(model)) return model;
  return model.has_parent_path() ? model.parent_path() : std::filesystem::path(".");
}

// A tied model reads its embedding alone; a head stored beside it should be the same.
std::string head_note(const TensorFolder& weights) {
  constexpr const char *kHead = "lm_head.weight", *kEmbedding = "model.embed_tokens.weight";
  if (!weights.contains(kHead) || !weights.contains(kEmbedding)) return "";
  const Tensor a = weights.tensor(kHead), b = weights.tensor(kEmbedding);
  if (a.shape() != b.shape() || a.rank() != 2)
    return fmt::format("tensor '{}' {} is ignored: the output is tied to the embedding {}", kHead,
                       to_string(a.shape()), to_string(b.shape()));
  if (a.raw() == b.raw()) return "";  // a shared storage
  std::atomic<int64_t> rows{0};
  parallel_for(a.dim(0), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Tensor x = a.narrow(0, i, 1).to(DType::f32), y = b.narrow(0, i, 1).to(DType::f32);
      if (!std::equal(x.data<float>(), x.data<float>() + x.size(), y.data<float>())) ++rows;
    }
  });
  if (rows == 0) return "";
  return fmt::format(
      "tensor '{}' differs from the embedding in {} of {} rows and is ignored: config.json, "
      "tie_word_embeddings says they are one",
      kHead, rows.load(), a.dim(0));
}

std::unique_ptr<Model> load(const nn::Registry& registry, const std::filesystem::path& path,
                            const LoadOptions& options, const Json& config, const TensorFolder& plain,
                            LoadReport& found) {
  std::optional<Adapter> adapter;
  if (options.adapter) adapter.emplace(*options.adapter, options.adapter_scale);
  const std::optional<TensorFolder> changed = adapter ? adapter->changed(plain) : std::nullopt;
  const TensorFolder& weights = changed ? *changed : plain;
  std::unique_ptr<QuantizedReader> packed = QuantizedReader::open(path, config, plain);
  if (packed && changed)
    fail(
        "{} is quantized, and {} replaces or changes whole tensors (modules_to_save, lm_head): take the original "
        "folder",
        path.string(), options.adapter->string());
  if (packed && !options.pack)
    fail("{} is quantized, which supports inference only: {} the original folder", path.string(),
         adapter ? "merge into" : "train");
  if (packed && (options.scheme || options.head || options.hook))
    fail("{} is already quantized as {}: leave the format out, or quantize the original folder", path.string(),
         kernels::to_string(packed->body()));
  const nn::WeightPrepacking packing =
      packed ? nn::WeightPrepacking(packed->body(), packed->head(), packed.get()) : packing_of(options);
  std::unique_ptr<Model> model = build_model(registry, config, &weights);
  // bf16 matrices are packed from the mapping itself; everything else is small and kept in f32.
  const bool bf16_rows = packing.rows() == DType::bf16;
  DType keep = bf16_rows || packed ? DType::f32 : options.dtype;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (packed && packed->covers(name)) {
      p.value = Tensor();
      return;
    }
    Tensor t = model->read(weights, name, p);
    if (!t.defined()) {
      if (!p.optional) fail("{}: tensor '{}' is missing", path.string(), name);
      found.missing.push_back(name);
      p.value = Tensor::full(p.shape, keep, p.init.kind == grad::Init::Kind::constant ? p.init.value : 0);
      return;
    }
    if (t.shape() != p.shape)
      fail("tensor '{}', shape: expected {}, found {}", name, to_string(p.shape), to_string(t.shape()));
    bool matrix = bf16_rows && options.pack && p.matrix && t.dtype() == DType::bf16;
    p.value = matrix ? t : t.to(keep);
    if (!options.pack && p.value.same_buffer(t))
      p.value = p.value.clone();  // training writes; a mapping is read-only
  });
  if (adapter) options.pack ? adapter->names_of(*model) : adapter->merge_into(*model);
  nn::LowRankSource* paths = adapter ? &*adapter : options.paths;
  if (options.paths) model->visit("", [](const std::string&, grad::Parameter& p) { p.trainable = false; });
  if (options.pack) model->pack(packing.beside(paths));
  if (packed) packed->finish();
  if (adapter) adapter->finish();
  const std::vector<std::string> unread = weights.unread();
  for (const std::string& n : unread)
    if (!model->ignorable(n)) found.unused.push_back(n);
  if (std::find(unread.begin(), unread.end(), "lm_head.weight") != unread.end() && model->ignorable("lm_head.weight"))
    if (std::string note = head_note(weights); !note.empty()) found.notes.push_back(std::move(note));
  return model;
}

}  // namespace

Checkpoint open_checkpoint(const std::filesystem::path& model, DType unpacked) {
  if (!is_gguf(model)) {
    TensorFolder weights(model);
    return {read_config_file(companions(model) / "config.json"), std::move(weights)};
  }
  auto file = std::make_shared<const GgufFile>(model);
  return {gguf::read_config(*file), gguf::read_weights(file, unpacked)};
}

std::unique_ptr<Model> build_model(const nn::Registry& registry, const Json& config, const TensorFolder* weights) {
  if (!config.is_object()) fail("config.json: expected an object");
  return registry.models.make(model_type(config), config, weights);
}

std::unique_ptr<Model> load_model(const nn::Registry& registry, const std::filesystem::path& path,
                                  LoadOptions options, LoadReport* report) {
  const bool bf16_matrices = options.pack && packing_of(options).rows() == DType::bf16;
  auto [config, weights] = open_checkpoint(path, bf16_matrices ? DType::bf16 : DType::f32);
  LoadReport found;
  if (options.config_change) config = options.config_change(config, found.notes);
  for (const auto& folder : {std::optional(path), options.adapter})
    if (const std::string file = folder ? ignored_weights(*folder) : ""; !file.empty())
      found.notes.push_back(fmt::format("{} in {} is not read: safetensors win", file, folder->string()));
  try {
    auto model = load(registry, path, options, config, weights, found);
    if (report) *report = std::move(found);
    return model;
  } catch (const std::bad_alloc&) {
    fail("{}: out of memory while loading {} MB of weights; quantized as q8 or q4 they need less", path.string(),
         weights.bytes() / 1000000);
  }
}

void save_model(Model& model, const std::filesystem::path& folder, DType dtype, int64_t shard_bytes) {
  std::filesystem::create_directories(folder);
  NamedTensors tensors;
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    QUERN_CHECK(p.value.defined(), "{}: the unquantized weights were freed", name);
    tensors.emplace_back(name, p.trainable ? p.value.to(dtype) : p.value.to(DType::f32));
  });
  save_tensor_folder(folder, tensors, shard_bytes);
  Json config = model.config();
  config.set(config.find("torch_dtype") ? "torch_dtype" : "dtype", dtype == DType::bf16 ? "bfloat16" : "float32");
  write_file(folder / "config.json", config.dump(2) + "\n");
}

GenerationConfig load_generation_config(const std::filesystem::path& model) {
  GenerationConfig g;
  auto read_from = [&](const Json& j, const std::string& where) {
    ConfigReader r(j, where);
    std::optional<bool> said;
    r("do_sample", said);
    if (said) g.do_sample = *said, g.greedy = !*said;
    ModelSettingsReader sampling{r};
    g.sampling.visit(sampling);
    r("bos_token_id", g.bos_token_id);
    r("pad_token_id", g.pad_token_id);
    read_ids(j, "eos_token_id", where, g.eos_token_id);
  };
  const std::filesystem::path folder = companions(model), own = folder / "generation_config.json";
  if (is_gguf(model))
    read_from(gguf::read_config(GgufFile(model)), model.string());
  else if (const auto config = folder / "config.json"; std::filesystem::exists(config))
    read_from(read_config_file(config), config.string());
  if (std::filesystem::exists(own)) read_from(Json::read(own), own.string());
  return g;
}

text::Tokenizer load_tokenizer(const std::filesystem::path& model) {
  if (model.extension() == ".json") return text::Tokenizer::load(model);
  const std::filesystem::path folder = companions(model);
  if (is_gguf(model) && !std::filesystem::exists(folder / "tokenizer.json"))
    return gguf::read_tokenizer(GgufFile(model));
  return text::Tokenizer::load(folder);
}

namespace {

std::optional<text::ChatTemplate> gguf_chat_template(const std::filesystem::path& model) {
  const GgufFile file(model);
  const auto it = file.metadata().find("tokenizer.chat_template");
  if (it == file.metadata().end()) return std::nullopt;
  return text::ChatTemplate::parse(it->second.as_string(model.string() + ", metadata 'tokenizer.chat_template'"));
}

}  // namespace

std::optional<text::ChatTemplate> own_chat_template(const std::filesystem::path& model) {
  const std::filesystem::path folder = companions(model);
  if (text::ChatTemplate::present(folder)) return text::ChatTemplate::load(folder);
  return is_gguf(model) ? gguf_chat_template(model) : std::nullopt;
}

text::ChatTemplate load_chat_template(const std::filesystem::path& model, const std::string& family) {
  if (auto own = own_chat_template(model)) return *std::move(own);
  return text::family_chat_template(family);
}

void save_generation_config(const GenerationConfig& g, const std::filesystem::path& folder) {
  Json j = Json::object(), eos = Json::array();
  for (int64_t e : g.eos_token_id) eos.push(e);
  j.set("do_sample", g.do_sample);
  ModelSettingsWriter sampling{j, g.do_sample};
  infer::SamplingOptions(g.sampling).visit(sampling);
  if (g.bos_token_id) j.set("bos_token_id", *g.bos_token_id);
  if (g.pad_token_id) j.set("pad_token_id", *g.pad_token_id);
  j.set("eos_token_id", eos.as_array().size() == 1 ? eos.as_array()[0] : eos);
  write_file(folder / "generation_config.json", j.dump(2) + "\n");
}

}  // namespace quern::models
