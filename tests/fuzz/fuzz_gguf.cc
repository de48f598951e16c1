// Any bytes as a GGUF file: either every tensor can be read to its last element, as stored and as a model would ask
// for it, or an Error says why not; the same for its tokenizer.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/gguf/gguf_model.h"
#include "quern/gguf/gguf_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("quern_fuzz_" + std::to_string(::getpid()));
  quern::write_file(path, {reinterpret_cast<const char*>(data), size});
  volatile double keep = 0;
  auto touch = [&](const quern::Tensor& t) {
    if (t.size() > 0) keep = keep + t.item(0) + t.item(t.size() - 1);
  };
  try {
    auto f = std::make_shared<const quern::GgufFile>(path);
    for (const auto& [name, e] : f->entries()) touch(f->tensor(name));
    try {
      keep = keep + static_cast<double>(
                        quern::gguf::read_tokenizer(*f).encode("Once upon a time, 12 \xF0\x9F\x90\x88").size());
    } catch (const quern::Error&) {
    }
    quern::TensorFolder weights = quern::gguf::read_weights(f, quern::DType::bf16);
    for (const std::string& name : weights.names()) touch(weights.tensor(name));
  } catch (const quern::Error&) {
  }
  return 0;
}
