#include "quern/models/checkpoint.h"

#include "quern/base/config.h"
#include "quern/base/mmap.h"
#include "quern/models/packed_file.h"

namespace quern {
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

Packing packing_of(const LoadOptions& o) {
  const WeightScheme body = o.scheme.value_or(WeightScheme(o.dtype));
  const WeightScheme same_or_q8 = body.quantised() ? WeightScheme(WeightFormat::q8) : body;
  return Packing(body, o.head.value_or(same_or_q8), o.hook);
}

}  // namespace

std::unique_ptr<Model> build_model(const Registry& registry, const Json& config, const TensorFolder* weights) {
  if (!config.is_object()) fail("config.json: expected an object");
  return registry.models.make(model_type(config), config, weights);
}

std::unique_ptr<Model> load_model(const Registry& registry, const std::filesystem::path& folder, LoadOptions options,
                                  LoadReport* report) {
  TensorFolder weights(folder);
  const Json config = Json::read(folder / "config.json");
  std::unique_ptr<PackedReader> packed = PackedReader::open(folder, config);
  if (packed && !options.pack) fail("{} holds packed weights: they serve, they cannot be trained", folder.string());
  if (packed && (options.scheme || options.head || options.hook))
    fail("{} holds weights packed as {}: quantise from the original folder", folder.string(),
         to_string(packed->body()));
  const Packing packing = packed ? Packing(packed->body(), packed->head(), packed.get()) : packing_of(options);
  std::unique_ptr<Model> model = build_model(registry, config, &weights);
  // bf16 matrices are packed from the mapping itself; everything else is small and kept in f32.
  const bool bf16_rows = packing.rows() == DType::bf16;
  DType keep = bf16_rows || packed ? DType::f32 : options.dtype;
  LoadReport found;
  model->visit("", [&](const std::string& name, Parameter& p) {
    if (packed && packed->covers(name)) {
      p.value = Tensor();
      return;
    }
    Tensor t = model->read(weights, name, p);
    if (!t.defined()) {
      if (!p.optional) fail("{}: tensor '{}' is missing", folder.string(), name);
      found.missing.push_back(name);
      p.value = Tensor::full(p.shape, keep, p.init.kind == Init::Kind::constant ? p.init.value : 0);
      return;
    }
    if (t.shape() != p.shape)
      fail("tensor '{}', shape: expected {}, found {}", name, to_string(p.shape), to_string(t.shape()));
    bool matrix = bf16_rows && options.pack && p.matrix && t.dtype() == DType::bf16;
    p.value = matrix ? t : t.to(keep);
    if (!options.pack && p.value.same_buffer(t))
      p.value = p.value.clone();  // training writes; a mapping is read-only
  });
  for (const std::string& n : weights.unread())
    if (!model->ignorable(n) && !(packed && packed->owns(n))) found.unused.push_back(n);
  if (options.pack) model->pack(packing);
  if (packed) packed->finish();
  if (report) *report = std::move(found);
  return model;
}

void save_model(Model& model, const std::filesystem::path& folder, DType dtype, int64_t shard_bytes) {
  std::filesystem::create_directories(folder);
  NamedTensors tensors;
  model.visit("", [&](const std::string& name, Parameter& p) {
    QUERN_CHECK(p.value.defined(), "{} was packed away", name);
    tensors.emplace_back(name, p.trainable ? p.value.to(dtype) : p.value.to(DType::f32));
  });
  save_tensor_folder(folder, tensors, shard_bytes);
  Json config = model.config();
  config.set(config.find("torch_dtype") ? "torch_dtype" : "dtype", dtype == DType::bf16 ? "bfloat16" : "float32");
  write_file(folder / "config.json", config.dump(2) + "\n");
}

GenerationConfig load_generation_config(const std::filesystem::path& folder) {
  GenerationConfig g;
  auto read_from = [&](const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return;
    Json j = Json::read(file);
    std::string where = file.string();
    ConfigReader r(j, where);
    r("do_sample", g.do_sample);
    r("temperature", g.temperature);
    r("top_p", g.top_p);
    r("top_k", g.top_k);
    r("min_p", g.min_p);
    r("bos_token_id", g.bos_token_id);
    r("pad_token_id", g.pad_token_id);
    read_ids(j, "eos_token_id", where, g.eos_token_id);
  };
  read_from(folder / "config.json");
  read_from(folder / "generation_config.json");
  return g;
}

void save_generation_config(const GenerationConfig& g, const std::filesystem::path& folder) {
  Json j = Json::object(), eos = Json::array();
  for (int64_t e : g.eos_token_id) eos.push(e);
  j.set("do_sample", g.do_sample);
  if (g.do_sample) {  // transformers refuses sampling settings without do_sample
    j.set("temperature", g.temperature);
    j.set("top_p", g.top_p);
    j.set("top_k", g.top_k);
    j.set("min_p", g.min_p);
  }
  if (g.bos_token_id) j.set("bos_token_id", *g.bos_token_id);
  if (g.pad_token_id) j.set("pad_token_id", *g.pad_token_id);
  j.set("eos_token_id", eos.as_array().size() == 1 ? eos.as_array()[0] : eos);
  write_file(folder / "generation_config.json", j.dump(2) + "\n");
}

}  // namespace quern
