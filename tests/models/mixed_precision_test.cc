// Mixed precision: sensitivities are the KL of definition, formats stay within the budget, folders hold what was
// chosen, and the model is nearer to bf16 than in 4 bits throughout.
#include "quern/models/mixed_precision.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/quantize.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using kernels::QuantFormat;
using kernels::WeightFormat;

constexpr const char* kModels[] = {"zaya-2-4x2", "llama-gqa", "zamba-6", "zamba2-2block-adapters"};
const QuantFormat kLow{WeightFormat::q4, 32}, kHigh{WeightFormat::q8};

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / fmt::format("quern_mixed_{}_{}", ::getpid(), name)) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

models::QuantizedShape shape_of(const Golden& g, QuantFormat body = kLow, QuantFormat head = kHigh) {
  return models::quantized_shape(*models::build_model(nn::builtin_registry(), Json::read(g.folder / "config.json")),
                                 body, head);
}

// Packs every matrix as a list says.
class ByList : public nn::PrepackHook {
 public:
  explicit ByList(std::vector<QuantFormat> formats) : formats_(std::move(formats)) {}
  kernels::PrepackedWeight matrix(const std::string& name, int64_t, int64_t, const QuantFormat&,
                                  const std::function<Tensor()>& plain) override {
    names.push_back(name);
    return kernels::PrepackedWeight::pack(plain(), formats_.at(names.size() - 1));
  }
  std::vector<std::string> names;

 private:
  std::vector<QuantFormat> formats_;
};

Tensor logits_by_list(const Golden& g, const std::vector<QuantFormat>& formats, std::span<const int32_t> ids) {
  ByList hook(formats);
  auto model = models::load_model(nn::builtin_registry(), g.folder, {.scheme = kLow, .head = kHigh, .hook = &hook});
  EXPECT_EQ(hook.names.size(), formats.size());
  return infer::all_logits(*model, ids);
}

// The definition, in double.
double mean_kl(const Tensor& p, const Tensor& q) {
  const int64_t vocab = p.dim(1);
  const auto log_sum = [&](const Tensor& x, int64_t t) {
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) sum += std::exp(x.item(t * vocab + v));
    return std::log(sum);
  };
  double kl = 0;
  for (int64_t t = 0; t < p.dim(0); ++t) {
    const double of_p = log_sum(p, t), of_q = log_sum(q, t);
    for (int64_t v = 0; v < vocab; ++v) {
      const double log_p = p.item(t * vocab + v) - of_p, log_q = q.item(t * vocab + v) - of_q;
      kl += std::exp(log_p) * (log_p - log_q);
    }
  }
  return kl / static_cast<double>(p.dim(0));
}

TEST(MixedPrecision, TheShapeIsThatOfTheFolder) {
  for (const char* name : kModels)
    for (const QuantFormat head : {kHigh, QuantFormat(WeightFormat::bf16)}) {
      Golden g(name);
      Folder out(name);
      const models::QuantizedShape shape = shape_of(g, kLow, head);
      std::vector<models::QuantizationRecorder::Row> rows;
      models::quantize_folder(nn::builtin_registry(), g.folder, out.path(),
                              {.body = kLow, .head = head, .report = [&](const auto& r) { rows.push_back(r); }});
      ASSERT_EQ(rows.size(), shape.matrices.size()) << name;
      int64_t bytes = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto& m = shape.matrices[i];
        EXPECT_EQ(m.name, rows[i].name);
        EXPECT_TRUE(m.n == rows[i].n && m.k == rows[i].k && m.format == rows[i].scheme) << m.name;
        bytes += rows[i].bytes;
      }
      EXPECT_EQ(shape.bytes(), bytes);
      const TensorFolder file(out.path());
      EXPECT_EQ(file.names().size(), shape.matrices.size() + shape.plain.size());
      for (const auto& [plain, of] : shape.plain) EXPECT_EQ(file.entry(plain).shape, of) << plain;
      EXPECT_LE(static_cast<int64_t>(fs::file_size(out.path() / "model.safetensors")),
                file.bytes() + models::header_bytes(shape));
    }
}

TEST(MixedPrecision, SensitivityIsTheKlOfOneGroupInFourBits) {
  for (const char* name : kModels) {
    Golden g(name);
    const auto ids = std::span(g.tokens).first(40);
    const models::QuantizedShape shape = shape_of(g);
    std::vector<models::MatrixGroup> groups = models::matrix_groups(shape, kLow);
    ASSERT_GT(groups.size(), 3u);
    models::measure_sensitivity(nn::builtin_registry(), g.folder, {.body = kLow, .head = kHigh, .text = ids}, groups);
    const std::vector<QuantFormat> plain(shape.matrices.size(), DType::bf16);
    const Tensor exact = logits_by_list(g, plain, ids);
    size_t members = 0;
    for (const models::MatrixGroup& group : groups) {
      std::vector<QuantFormat> formats = plain;
      for (const size_t i : group.matrices) formats[i] = kLow;
      members += group.matrices.size();
      const double want = mean_kl(exact, logits_by_list(g, formats, ids));
      ASSERT_TRUE(group.kl.has_value());
      EXPECT_NEAR(*group.kl, want, 1e-3 * want + 1e-6) << name << " " << group.name;
    }
    // The head, in 8 bits, is in no group.
    size_t heads = 0;
    for (const auto& m : shape.matrices) heads += m.format == kHigh;
    EXPECT_GT(heads, 0u);
    EXPECT_EQ(members, shape.matrices.size() - heads);
  }
}

TEST(MixedPrecision, FoldersHoldWhatWasChosenWithinTheBudget) {
  for (const char* name : kModels) {
    Golden g(name);
    const auto text = std::span(g.tokens).first(200), ids = std::span(g.tokens).first(32);
    Folder low(fmt::format("{}-low", name)), high(fmt::format("{}-high", name));
    models::quantize_folder(nn::builtin_registry(), g.folder, low.path(), {.body = kLow, .head = kHigh});
    models::quantize_folder(nn::builtin_registry(), g.folder, high.path(), {.body = kHigh, .head = kHigh});
    const auto bytes = [](const fs::path& p) { return static_cast<int64_t>(fs::file_size(p / "model.safetensors")); };
    const int64_t budget = (bytes(low.path()) + bytes(high.path())) / 2 + models::header_bytes(shape_of(g));
    Folder mixed(fmt::format("{}-mixed", name));
    std::vector<models::MatrixGroup> groups;
    models::QuantizeOptions o{.body = kLow, .head = kHigh};
    o.mixed.max_bytes = budget, o.mixed.text = text;
    o.mixed.report = [&](const std::vector<models::MatrixGroup>& all) { groups = all; };
    models::quantize_folder(nn::builtin_registry(), g.folder, mixed.path(), o);
    EXPECT_LE(bytes(mixed.path()), budget) << name;
    EXPECT_GT(bytes(mixed.path()), bytes(low.path())) << name;

    std::vector<QuantFormat> formats;
    for (const auto& m : shape_of(g).matrices) formats.push_back(m.format);
    size_t raised = 0;
    for (const models::MatrixGroup& group : groups)
      if (group.raised)
        for (const size_t i : group.matrices) formats[i] = kHigh, ++raised;
    ASSERT_GT(raised, 0u);
    auto model = models::load_model(nn::builtin_registry(), mixed.path());
    const Tensor x = infer::all_logits(*model, ids), y = logits_by_list(g, formats, ids);
    for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.item(i), y.item(i)) << name;

    const std::vector<QuantFormat> plain(formats.size(), DType::bf16);
    const Tensor exact = logits_by_list(g, plain, text);
    const auto kl = [&](const fs::path& folder) {
      return mean_kl(exact, infer::all_logits(*models::load_model(nn::builtin_registry(), folder), text));
    };
    EXPECT_LT(kl(mixed.path()), kl(low.path())) << name;
  }
}

TEST(MixedPrecision, RaisesByKlPerByteAndPassesOverWhatDoesNotFit) {
  models::QuantizedShape shape;
  for (const auto& [name, n] : {std::pair{"layers.0.a", 640}, {"layers.1.b", 64}, {"layers.1.c", 64}, {"head", 64}})
    shape.matrices.push_back({name, n, 64, std::string(name) == "head" ? kHigh : kLow});
  std::vector<models::MatrixGroup> groups = models::matrix_groups(shape, kLow);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].added, 10 * groups[1].added);
  const int64_t low = shape.bytes();
  groups[0].kl = 5.0, groups[1].kl = 0.4, groups[2].kl = 0.3;  // per byte: 0.5, 0.4, 0.3 of one unit
  const auto raised = [&](int64_t budget) {
    models::QuantizedShape s = shape;
    std::vector<models::MatrixGroup> all = groups;
    models::raise_groups(s, all, budget);
    EXPECT_LE(s.bytes(), budget);
    std::string names;
    for (const models::MatrixGroup& g : all) {
      if (g.raised) names += g.name.back();
      for (const size_t i : g.matrices) EXPECT_TRUE(s.matrices[i].format == (g.raised ? kHigh : kLow));
    }
    return names;
  };
  const int64_t unit = groups[1].added;
  EXPECT_EQ(raised(low), "");
  EXPECT_EQ(raised(low + unit), "b");
  EXPECT_EQ(raised(low + 2 * unit), "bc");
  EXPECT_EQ(raised(low + 10 * unit), "a");
  EXPECT_EQ(raised(low + 11 * unit), "ab");
  EXPECT_EQ(raised(low + 12 * unit), "abc");
  EXPECT_NE(message_of([&] { raised(low - 1); }).find("allow more"), std::string::npos);
}

TEST(MixedPrecision, WithoutATextTheOrderIsByKind) {
  EXPECT_EQ(models::default_rank("model.layers.20.mamba.x_proj_weight", 40), 0);
  EXPECT_EQ(models::default_rank("model.layers.20.mamba.dt_proj_weight", 40), 0);
  EXPECT_EQ(models::default_rank("model.layers.4.mlp.down_proj.weight", 40), 1);
  EXPECT_EQ(models::default_rank("model.layers.5.mlp.down_proj.weight", 40), 2);
  EXPECT_EQ(models::default_rank("model.layers.34.mlp.down_proj.weight", 40), 2);
  EXPECT_EQ(models::default_rank("model.layers.35.mlp.down_proj.weight", 40), 1);
  // Zamba's projections of the state are found in the model's own names, one group per layer.
  Golden g("zamba-6");
  models::QuantizedShape shape = shape_of(g);
  std::vector<models::MatrixGroup> groups = models::matrix_groups(shape, kLow);
  // A dt projection of a few columns is padded to a group of 32 in q4, and smaller in q8.
  const auto first = [](const models::MatrixGroup& g) {
    return models::default_rank(g.name, 6) == 0 || g.added <= 0;
  };
  EXPECT_EQ(
      std::count_if(groups.begin(), groups.end(), [](const auto& g) { return g.name.find("x_proj") != g.name.npos; }),
      6);
  int64_t small = 0;
  for (const models::MatrixGroup& group : groups)
    if (first(group)) small += group.added;
  models::raise_groups(shape, groups, shape.bytes() + small);
  for (const models::MatrixGroup& group : groups) EXPECT_EQ(group.raised, first(group)) << group.name;
}

TEST(MixedPrecision, BitsPerWeightAreABudgetToo) {
  Golden g("llama-gqa");
  Folder out("bits");
  models::QuantizeOptions o{.body = kLow, .head = kLow};
  int64_t bytes = 0, weights = 0;
  o.report = [&](const models::QuantizationRecorder::Row& r) { bytes += r.bytes, weights += r.n * r.k; };
  const models::QuantizedShape lowest = shape_of(g, kLow, kLow), highest = shape_of(g, kHigh, kHigh);
  const auto bits_of = [](int64_t bytes, int64_t of) {
    return 8.0 * static_cast<double>(bytes) / static_cast<double>(of);
  };
  const double low = bits_of(lowest.bytes(), lowest.weights()), high = bits_of(highest.bytes(), highest.weights());
  o.mixed.max_bits = (low + high) / 2;
  models::quantize_folder(nn::builtin_registry(), g.folder, out.path(), o);
  EXPECT_LE(bits_of(bytes, weights), *o.mixed.max_bits);
  EXPECT_GT(bits_of(bytes, weights), low);
  EXPECT_NE(
      infer::all_logits(*models::load_model(nn::builtin_registry(), out.path()), std::span(g.tokens).first(2)).size(),
      0);
  Folder other("other");
  o.body = kHigh;
  EXPECT_NE(message_of([&] {
              models::quantize_folder(nn::builtin_registry(), g.folder, other.path(), o);
            }).find("from q4 to q8"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(other.path()));
}

}  // namespace
}  // namespace quern
