// Any bytes as the model.safetensors of a packed folder: a small model is loaded from it, or an Error says why not.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"

namespace {

constexpr const char* kConfig = R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 16,
  "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8, "tie_word_embeddings": true,
  "quantization_config": {"quant_method": "quern", "version": "1"}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path folder = [] {
    auto f = std::filesystem::temp_directory_path() / ("quern_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(f);
    quern::write_file(f / "config.json", kConfig);
    return f;
  }();
  quern::write_file(folder / "model.safetensors", {reinterpret_cast<const char*>(data), size});
  try {
    quern::models::load_model(quern::nn::builtin_registry(), folder);
  } catch (const quern::Error&) {
  }
  return 0;
}
