// Flags of mixed precision, in verbs that write a quantized folder.
#pragma once
#include <optional>

#include "apps/quern/cli/args.h"
#include "quern/models/quantize.h"

namespace quern::cli {

struct MixedFlags {
  std::optional<int64_t> max_mib = {};
  std::optional<double> max_bits = {};

  void add_to(Args& a) {
    a.flag("--max-file-mib MIB", max_mib,
           "q4: store the most sensitive matrices as q8, as long as the weight file stays within MIB");
    a.flag("--max-bits BITS", max_bits,
           "q4: store the most sensitive matrices as q8, up to BITS bits per quantized weight on average");
  }
  bool given() const { return max_mib || max_bits; }
  void apply(models::QuantizeOptions& o) const {  // throws UsageError
    if (!given()) return;
    const std::string flag = max_mib ? "--max-file-mib" : "--max-bits";
    if (o.body.format != kernels::WeightFormat::q4)
      throw UsageError(fmt::format("{} raises matrices from q4 to q8: give --quant q4 with it", flag));
    if (max_mib && (*max_mib < 1 || *max_mib > int64_t{1} << 30))
      throw UsageError(fmt::format("--max-file-mib {}: expected 1 to {}", *max_mib, int64_t{1} << 30));
    if (max_bits && !(*max_bits > 0 && *max_bits <= 16))
      throw UsageError(fmt::format("--max-bits {}: expected a number above 0 and up to 16", *max_bits));
    if (max_mib) o.mixed.max_bytes = *max_mib << 20;
    o.mixed.max_bits = max_bits;
  }
};

}  // namespace quern::cli
