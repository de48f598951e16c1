// Speed of a whole model: prompt and generation at several depths and batch sizes, with the bytes each token touches and
// the share of what this machine could do, measured in the same run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

struct ModelBenchOptions {
  std::string dir, shape;  // one of them: a folder, or a published shape with random weights
  std::string scheme = "bf16";
  int64_t prompt = 2048, reps = 15;
  std::vector<std::string> depths = {}, batches = {};  // of decoding; empty = 512 and 8192, and 1
  bool skip_prefill = false;
};
int bench_model(const ModelBenchOptions& options, bool json);

}  // namespace quern
