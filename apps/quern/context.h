// What the verbs share: the flags that say how weights are kept, and loading a folder with a word on what was left
// over.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/quern/args.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/everything.h"

namespace quern {

DType parse_compute_dtype(const std::string& text);  // "auto", "f32", "bf16"

// --dtype, or --scheme and --head: weights are quantised as they are loaded.
struct WeightFlags {
  std::string dtype_default;
  std::optional<std::string> dtype = {}, scheme = {}, head = {};
  void add_to(Args& args, const std::string& dtype_help);
  LoadOptions load_options() const;  // throws UsageError
  std::string name() const;          // for people and fingerprints: "bf16", "q4", "q4 with q8 head"
  DType kv() const;                  // what the key/value cache holds
};

int64_t weight_bytes(const std::filesystem::path& model);  // of a folder's safetensors, or of a .gguf file
std::unique_ptr<Model> load_for_inference(const std::filesystem::path& folder, const LoadOptions& options);
// How a packed folder's matrices are kept, of body and head; nothing for any other.
std::optional<std::pair<WeightScheme, WeightScheme>> packed_schemes(const std::filesystem::path& folder,
                                                                    const Checkpoint& files);
// `weights`: "auto", or a scheme: f32, bf16, q8, q4, q8a8.
std::unique_ptr<Model> load_for_inference(const std::filesystem::path& folder, const std::string& weights);

}  // namespace quern
