// What the verbs share: the flags of weight formats and of the context, and loading a folder with a report of unused tensors.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/quern/cli/args.h"
#include "quern/infer/cache/weight_settings.h"
#include "quern/models/checkpoint.h"
#include "quern/models/context/context_settings.h"
#include "quern/nn/builtin_registry.h"

namespace quern::cli {

DType parse_compute_dtype(const std::string& text);  // "auto", "f32", "bf16"

DType parse_kv_flag(const std::string& text);  // throws UsageError

// --dtype, or --quant and --head: weights are quantized as they are loaded. --kv where text is generated.
struct WeightFlags {
  std::string dtype_default = "auto";
  std::optional<std::string> dtype = {}, scheme = {};
  infer::WeightSettings weights = {};  // head and kv; its format is what dtype and scheme come to
  template <class V>
  void visit(V& v) {
    v("dtype", dtype, "weight type in memory: f32, bf16, or auto (bf16)", {.value = "TYPE", .shown_default = "auto"});
    v("quant", scheme,
      "instead of --dtype: quantize the weights at load: f32, bf16, q8, q4 or q8a8 (q8 with int8 activations)",
      {.value = "FORMAT", .old_flags = "--scheme"});
    weights.visit(v);
  }
  void add_to(Args& args);                   // all but --kv
  void add_cache_to(Args& args);             // --kv
  models::LoadOptions load_options() const;  // throws UsageError
  std::string name() const;                  // for people and fingerprints: "bf16", "q4", "q4 with q8 head"
  DType kv() const;                          // what the key/value cache holds

 private:
  infer::WeightSettings resolved() const;
};

// An adapter as flags name it, DIR or DIR:SCALE.
struct AdapterPath {
  std::string folder;
  double scale = 1;
  explicit AdapterPath(const std::string& text);  // throws UsageError
};

// --lora DIR[:SCALE] of verbs that run one model.
struct LoraFlag {
  std::optional<std::string> lora = {};
  template <class V>
  void visit(V& v) {
    v("lora", lora, "apply a LoRA adapter (PEFT folder) without merging it; SCALE multiplies its effect",
      {.value = "DIR[:SCALE]"});
  }
  models::LoadOptions with(models::LoadOptions options) const;  // throws UsageError
};

// --context, --rope-scaling and --rope-theta of verbs that run one model.
struct ContextFlags {
  models::ContextSettings settings = {};
  template <class V>
  void visit(V& v) {
    settings.visit(v);
  }
  models::LoadOptions with(models::LoadOptions options) const;  // throws UsageError
  void check() const;                                           // throws UsageError
};

// --dtype of verbs that write a model.
struct StoredType {
  std::string dtype = "bf16";
  template <class V>
  void visit(V& v) {
    v("dtype", dtype, "stored weight type: bf16 or f32", {.value = "TYPE"});
  }
};

// "q8" or "q4", and no file of that name.
bool is_packing(const std::string& text);
int64_t weight_bytes(const std::filesystem::path& model);  // of the files of a folder's weights, or of a file
std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder,
                                                  const models::LoadOptions& options);
// How a packed folder's matrices are kept, of body and head; nothing for any other.
std::optional<std::pair<kernels::QuantFormat, kernels::QuantFormat>> packed_formats(
    const std::filesystem::path& folder, const models::Checkpoint& files);
models::LoadOptions options_of(const std::string& weights);  // as below
// `weights`: "auto", or a scheme: f32, bf16, q8, q4, q8a8.
std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder, const std::string& weights);

}  // namespace quern::cli
