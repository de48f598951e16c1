// Any bytes as config.json: the model's structure is built, or an Error names the field. Structures of absurd size
// are refused by the bounds of each family; what passes them is built without memory for the weights.
#include <cstdint>

#include "quern/models/llama/llama_config.h"
#include "quern/models/zaya/zaya_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    quern::Json j = quern::Json::parse({reinterpret_cast<const char*>(data), size}, "config.json");
    for (int family = 0; family < 2; ++family) {
      try {
        // Writing and reading again must give the same configuration.
        quern::Json again = family ? quern::models::ZayaConfig::from_hf(j, nullptr).to_hf()
                                   : quern::models::LlamaConfig::from_hf(j).to_hf();
        quern::Json twice = family ? quern::models::ZayaConfig::from_hf(again, nullptr).to_hf()
                                   : quern::models::LlamaConfig::from_hf(again).to_hf();
        if (again.dump() != twice.dump()) __builtin_trap();
      } catch (const quern::Error&) {
      }
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
