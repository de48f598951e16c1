// Any bytes as a file of torch.save: either every tensor can be read to its last element, or an Error says why not.
#include <cstdint>
#include <memory>
#include <vector>

#include "quern/tensor/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const auto owner = std::make_shared<const std::vector<std::byte>>(begin, begin + size);
  try {
    const quern::TorchFile f("fuzz.bin", *owner, owner);
    volatile double keep = 0;
    for (const auto& [name, e] : f.entries()) {
      const quern::Tensor t = f.tensor(name);
      if (t.size() > 0) keep = keep + t.item(0) + t.item(t.size() - 1);
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
