// Any bytes as a GGUF file: either every tensor can be read to its last element, or an Error says why not.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/tensor/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("quern_fuzz_" + std::to_string(::getpid()));
  quern::write_file(path, {reinterpret_cast<const char*>(data), size});
  try {
    quern::GgufFile f(path);
    double sum = 0;
    for (const auto& [name, e] : f.entries()) {
      quern::Tensor t = f.tensor(name);
      if (t.size() > 0) sum += t.item(0) + t.item(t.size() - 1);
    }
    volatile double keep = sum;
    (void)keep;
  } catch (const quern::Error&) {
  }
  return 0;
}
