// Loads Hugging Face folders (config.json, generation_config.json, weights as safetensors or as PyTorch saves them) and
// single .gguf files, which are read as the folder they were made from. Loading picks the family from `model_type`, checks every
// tensor against the configuration, and reports unused tensors.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/infer/options/sampling_options.h"
#include "quern/models/model.h"
#include "quern/nn/registry.h"
#include "quern/nn/weight_prepacking.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::models {

struct Checkpoint {
  Json config;  // config.json
  TensorFolder weights;
};
// A folder; a .gguf file, whose packed matrices are read as `unpacked`, f32 or bf16; or a .bin, .pt or .pth file beside
// its config.json.
Checkpoint open_checkpoint(const std::filesystem::path& model, DType unpacked = DType::f32);

struct LoadOptions {
  DType dtype = DType::f32;  // of the parameters; bf16 packs matrices for inference and keeps the rest in f32
  bool pack = true;          // pack matrices (inference only); false for training and for saving again
  // Instead of dtype: the matrices in this scheme, the head in its own (q8 under a quantized body if absent). A
  // packed folder knows its schemes and takes none.
  std::optional<kernels::QuantFormat> scheme = {}, head = {};
  std::optional<std::filesystem::path> adapter = {};  // a PEFT folder: beside packed weights, merged into plain ones
  double adapter_scale = 1;                           // times the adapter's own
  nn::LowRankSource* paths = nullptr;                 // instead: what learns beside the weights, which freeze
  nn::PrepackHook* hook = nullptr;                    // sees every quantized matrix as it is packed
  // config.json as the model is built from it, instead of what was read; notes are for LoadReport. Null: as read.
  std::function<Json(const Json& config, std::vector<std::string>& notes)> config_change = {};
};

struct LoadReport {
  std::vector<std::string> unused;   // tensors of the checkpoint nobody asked for
  std::vector<std::string> missing;  // optional parameters that kept their initial value
  std::vector<std::string> notes;    // whatever else the caller should say
};

std::unique_ptr<Model> load_model(const nn::Registry& registry, const std::filesystem::path& path,
                                  LoadOptions options = {}, LoadReport* report = nullptr);
// The structure alone, parameters without values: for `info` and for new models.
std::unique_ptr<Model> build_model(const nn::Registry& registry, const Json& config,
                                   const TensorFolder* weights = nullptr);
// config.json and safetensors in the current layout, as f32 or bf16.
void save_model(Model& model, const std::filesystem::path& folder, DType dtype,
                int64_t shard_bytes = int64_t{5} << 30);

struct GenerationConfig {
  bool do_sample = false, greedy = false;  // greedy: the file says that it does not sample, and is not silent
  infer::SamplingOptions sampling = {};    // as the file has them: the fields with InModel::sampled or always
  std::vector<int64_t> eos_token_id = {};
  std::optional<int64_t> bos_token_id = {}, pad_token_id = {};
  // What the model asks for: without do_sample, temperature 1 and no filters.
  infer::SamplingOptions defaults() const {
    return do_sample ? sampling : infer::SamplingOptions{.repetition_penalty = sampling.repetition_penalty};
  }
};
// From generation_config.json, with ids from config.json where the former is silent. Absent files give the defaults.
GenerationConfig load_generation_config(const std::filesystem::path& model);
// What lies beside a .gguf file wins over what it holds. load_tokenizer also takes a tokenizer.json itself.
text::Tokenizer load_tokenizer(const std::filesystem::path& model);
std::optional<text::ChatTemplate> own_chat_template(const std::filesystem::path& model);
// Its own, or its family's.
text::ChatTemplate load_chat_template(const std::filesystem::path& model, const std::string& family);
void save_generation_config(const GenerationConfig& g, const std::filesystem::path& folder);

}  // namespace quern::models
