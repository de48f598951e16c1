// Whether the choice of instructions is the right one: products of the published models' shapes, in every format and for
// 1 to 2048 rows, as chosen and by each alternative in turn. A ratio is the alternative's time over the chosen one's,
// the median of the repetitions: below 1, the alternative is faster. Weights of few rows lie in memory, not in cache.
#include "apps/quern/bench/bench_products.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "quern/base/cpu.h"
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::cli {
namespace {

using kernels::Bf16Products;

constexpr int64_t kLargest = int64_t{5} << 30;  // rows times columns times depth: seconds for every repetition

struct Alternative {
  std::string name;
  Isa isa;
  std::optional<Bf16Products> products;  // none: as chosen
  bool exact = false;
};

std::vector<Alternative> alternatives() {
  std::vector<Alternative> v = {{"chosen", active_isa(), {}}};
  for (const Bf16Products p : {Bf16Products::fma, Bf16Products::vdpbf16, Bf16Products::amx})
    if (p != kernels::bf16_products() && kernels::has_bf16_products(p))
      v.push_back({std::string(kernels::bf16_products_name(p)), active_isa(), p});
  if (active_isa() == Isa::avx512) v.push_back({"avx2", Isa::avx2, {}});
  if (!kernels::exact_rows()) v.push_back({"exact", active_isa(), {}, true});
  return v;
}

class Forced {
 public:
  explicit Forced(const Alternative& a)
      : isa_(active_isa()), products_(kernels::bf16_products()), exact_(kernels::exact_rows()) {
    if (a.products) kernels::set_bf16_products(*a.products);
    if (a.exact) kernels::set_exact_rows(true);
    set_active_isa(a.isa);
  }
  ~Forced() { set_active_isa(isa_), kernels::set_bf16_products(products_), kernels::set_exact_rows(exact_); }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;

 private:
  Isa isa_;
  Bf16Products products_;
  bool exact_;
};

// The same matrix as often as memory needs it to fall out of every cache.
struct Weights {
  std::string format;
  int64_t n, k;
  std::vector<kernels::PackedLinear> dense;
  std::vector<kernels::QuantLinear> quantized;

  size_t copies() const { return std::max(dense.size(), quantized.size()); }
  void apply(size_t i, const Tensor& x, Tensor& y) const {
    if (dense.empty())
      quantized[i].apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena());
    else
      dense[i].apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena());
  }
};

Weights weights(const std::string& format, int64_t n, int64_t k) {
  constexpr int64_t kCold = int64_t{256} << 20;
  Weights w{format, n, k, {}, {}};
  const Tensor values = kernels::random_f32({n, k}, 5);
  if (format == "bf16" || format == "f32") {
    const DType type = format == "bf16" ? DType::bf16 : DType::f32;
    for (int64_t held = 0; held < kCold; held += w.dense.back().bytes())
      w.dense.push_back(kernels::PackedLinear::pack(values, type));
    return w;
  }
  const kernels::QuantFormat scheme = format == "q8"   ? kernels::QuantFormat{kernels::WeightFormat::q8}
                                      : format == "q4" ? kernels::QuantFormat{kernels::WeightFormat::q4, 32}
                                                       : kernels::QuantFormat{kernels::WeightFormat::q8a8};
  w.quantized.push_back(kernels::QuantLinear::pack(values, scheme));
  const Tensor& first = w.quantized[0].blob();
  for (int64_t held = first.size(); held < kCold; held += first.size()) {
    Tensor copy = Tensor::empty({first.size()}, DType::u8);
    std::copy_n(first.data<uint8_t>(), first.size(), copy.data<uint8_t>());
    w.quantized.push_back(kernels::QuantLinear::view(copy, n, k, scheme, "bench"));
  }
  return w;
}

struct Result {
  double flops = 0;                                    // of the chosen one
  std::vector<std::pair<std::string, double>> ratios;  // of the others, by time
};

Result compare(const Weights& w, int64_t m, const std::vector<Alternative>& all, int64_t reps) {
  const Tensor x = kernels::random_f32({m, w.k}, 77);
  Tensor y = Tensor::zeros({m, w.n}, DType::f32);
  size_t turn = 0;
  const auto seconds = [&](const Alternative& a) {
    const Forced forced(a);
    return host::time_once([&] { w.apply(turn++ % w.copies(), x, y); }, 0.004);
  };
  std::vector<double> chosen;
  std::vector<std::vector<double>> ratios(all.size());
  for (int64_t r = 0; r < reps; ++r)
    for (size_t a = 1; a < all.size(); ++a) {
      const double before = seconds(all[0]), other = seconds(all[a]), after = seconds(all[0]);
      chosen.push_back((before + after) / 2);
      ratios[a].push_back(other / chosen.back());
    }
  Result out{2.0 * static_cast<double>(m * w.n * w.k) * 1e-9 / host::median(chosen), {}};
  for (size_t a = 1; a < all.size(); ++a) out.ratios.emplace_back(all[a].name, host::median(ratios[a]));
  return out;
}

}  // namespace

int bench_products(const ProductBenchOptions& o) {
  const std::vector<Alternative> all = alternatives();
  if (all.size() < 2)
    fail("quern bench products: this machine has one kind of products; there is nothing to compare");
  Json rows = Json::array();
  if (!o.json) {
    fmt::print("chosen: {} {} ({})\n{:<6}{:>14}{:>7}{:>10}", isa_name(active_isa()),
               kernels::bf16_products_name(kernels::bf16_products()), kernels::bf16_choice_reason(), "type", "shape",
               "rows", "GFLOP/s");
    for (size_t a = 1; a < all.size(); ++a) fmt::print("{:>10}", all[a].name);
    fmt::print("\n");
  }
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{4096, 2048}, {2048, 4096}, {2560, 10240}})
    for (const char* format : {"f32", "bf16", "q8", "q4", "q8a8"}) {
      const Weights w = weights(format, n, k);
      for (const int64_t m : {1, 2, 3, 4, 5, 8, 16, 32, 128, 512}) {
        if (m * n * k > kLargest) continue;
        const Result r = compare(w, m, all, o.reps);
        Json row = Json::object(), ratios = Json::object();
        for (const auto& [name, ratio] : r.ratios) ratios.set(name, ratio);
        row.set("type", format), row.set("n", n), row.set("k", k), row.set("rows", m), row.set("gflops", r.flops);
        row.set("time_over_chosen", std::move(ratios));
        rows.push(std::move(row));
        if (o.json) continue;
        fmt::print("{:<6}{:>14}{:>7}{:>10.1f}", format, fmt::format("{}x{}", n, k), m, r.flops);
        for (const auto& one : r.ratios) fmt::print("{:>10.2f}", one.second);
        fmt::print("\n");
        std::fflush(stdout);
      }
    }
  if (o.json) fmt::print("{}\n", rows.dump(2));
  return 0;
}

}  // namespace quern::cli
