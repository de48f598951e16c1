#include "apps/quern/models/random_model.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/quern/models/context.h"
#include "apps/quern/models/shapes.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"

namespace quern::cli {
namespace {

// Every matrix is a window of one pool of random numbers, at an offset of its own, until it is packed into a copy of
// its own: an 8B model then needs its packed size and one gigabyte, not two models.
Tensor random_pool(int64_t n) {
  Tensor pool = Tensor::empty({n}, DType::bf16);
  bf16* p = pool.data<bf16>();
  constexpr int64_t kBlock = 1 << 16;
  parallel_dynamic((n + kBlock - 1) / kBlock, [&](int64_t b) {
    Rng rng(1, static_cast<uint64_t>(b));
    for (int64_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i)
      p[i] = bf16(static_cast<float>((rng.uniform() - 0.5) * 0.07));  // standard deviation 0.02
  });
  return pool;
}

std::pair<std::string, std::string> family_and_size(const std::string& shape) {
  size_t dash = shape.find('-');
  std::string family = shape.substr(0, dash);
  if (dash == std::string::npos)
    fail("--shape '{}': expected FAMILY-SIZE, for example zaya1-8b or zamba2-2.7b", shape);
  return {family == "zaya1" ? "zaya" : family, shape.substr(dash + 1)};
}

}  // namespace

std::unique_ptr<models::Model> random_model(const std::string& shape, const std::string& scheme,
                                            nn::LowRankSource* paths) {
  auto [family, size] = family_and_size(shape);
  const nn::WeightPrepacking packing(kernels::QuantFormat(kernels::parse_format(scheme, "--quant")));
  return random_model(shape_config(family, size, shape_vocab(family, size)), packing.beside(paths));
}

std::unique_ptr<models::Model> random_model(const Json& config, const nn::WeightPrepacking& packing) {
  std::unique_ptr<models::Model> model = models::build_model(nn::builtin_registry(), config);
  const kernels::QuantFormat& body = packing.scheme();
  int64_t largest = 0;
  model->visit("", [&](const std::string&, grad::Parameter& p) {
    if (p.matrix) largest = std::max(largest, element_count(p.shape));
  });
  constexpr int64_t kSpread = 1 << 24;  // offsets differ by up to this, in steps of a cache line
  Tensor pool = random_pool(largest + kSpread);
  uint64_t k = 0;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.matrix || body.format == kernels::WeightFormat::f32) {
      p.value = nn::initial_value(p, name, 1, DType::f32);
      if (body.format != kernels::WeightFormat::f32)
        p.value = p.value.to(DType::bf16).to(DType::f32);  // as checkpoints are
      return;
    }
    int64_t at = static_cast<int64_t>(Rng(2, k++).uniform() * (kSpread / 32)) * 32;
    p.value = pool.narrow(0, at, element_count(p.shape)).reshape(p.shape);
  });
  model->pack(packing);
  return model;
}

int64_t resident_bytes() {
  long pages = 0, resident = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace quern::cli
