#include "quern/infer/cache/state_identity.h"

#include "quern/base/cpu.h"
#include "quern/infer/cache/kv_type.h"
#include "quern/infer/cache/state_parts.h"
#include "quern/kernels/cpu/products.h"
#include "quern/models/fingerprint.h"

namespace quern::infer {
namespace {

constexpr const char* kFormat = "1";  // of the files, and of what a state's parts mean

std::string layout(const std::vector<mixers::StateSite>& sites) {
  std::string all;
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    all += fmt::format("{} {} {} {} {};", state_part_name(s, part), part.per_token, to_string(part.shape),
                       dtype_name(part.dtype), part.window);
  });
  return fmt::format("{:016x}", models::content_hash(std::as_bytes(std::span(all))));
}

}  // namespace

CacheIdentity state_identity(const std::vector<mixers::StateSite>& sites, DType kv, const std::string& rounding) {
  return {{"KV cache type", kv_name(kv)},
          {"state layout", layout(sites)},
          {"instructions", fmt::format("{} with {} products{}{}", isa_name(active_isa()),
                                       kernels::bf16_products_name(kernels::bf16_products()),
                                       has_avx512_bf16() ? ", bf16" : "", has_avx512_vnni() ? ", vnni" : "")},
          {"steps", rounding},
          {"file format", kFormat}};
}

}  // namespace quern::infer
