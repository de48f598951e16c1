// Quantized models: logits near f32 in every family, packed folders equal to quantizing at load bit for bit, damaged
// and foreign folders refused with a reason.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/quantize.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / fmt::format("quern_quantised_{}_{}", ::getpid(), name)) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::span<const int32_t> first(const Golden& g, size_t n) { return std::span(g.tokens).first(n); }

double worst(const Tensor& a, const Tensor& b) {
  double maximum = 0, top = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    maximum = std::max(maximum, std::fabs(a.item(i) - b.item(i))), top = std::max(top, std::fabs(b.item(i)));
  return maximum / top;
}

constexpr const char* kModels[] = {
    "zaya-2-4x2", "zaya-2-bias",   "llama-gqa", "qwen2-bias", "zamba-6", "zamba2-2block-adapters",
    "granite-h",  "granite-h-moe", "falcon-h1", "nemotron-h"};

// A router flip would show as an error near 1; these seeds have none in their first tokens.
TEST(Quantized, LogitsStayNearF32) {
  for (const char* name : kModels) {
    Golden g(name);
    auto exact = load_golden(g, DType::f32, true);
    Tensor want = infer::all_logits(*exact, first(g, 8));
    auto error = [&](kernels::QuantFormat body, kernels::QuantFormat head) {
      auto model = models::load_model(nn::builtin_registry(), g.folder, {.scheme = body, .head = head});
      return worst(infer::all_logits(*model, first(g, 8)), want);
    };
    // How far rounding moves these random models differs: bf16 rows alone are the measure.
    const double bf16 = error({kernels::WeightFormat::bf16}, {kernels::WeightFormat::bf16});
    EXPECT_LT(error({kernels::WeightFormat::q8}, {kernels::WeightFormat::q8}), 0.02 + 4 * bf16) << name;
    EXPECT_LT(error({kernels::WeightFormat::q8a8}, {kernels::WeightFormat::q8}), 0.04 + 6 * bf16) << name;
    EXPECT_LT(error({kernels::WeightFormat::q4, 32}, {kernels::WeightFormat::q8}), 0.4 + 10 * bf16) << name;
    EXPECT_LT(error({kernels::WeightFormat::q8}, {kernels::WeightFormat::bf16}), 0.02 + 4 * bf16) << name;
  }
}

TEST(Quantized, PackedFolderEqualsQuantizingAtLoad) {
  for (const char* name : kModels)
    for (const kernels::QuantFormat& s :
         {kernels::QuantFormat(kernels::WeightFormat::q8), kernels::QuantFormat(kernels::WeightFormat::q4, 64, true)})
      for (const kernels::QuantFormat& head :
           {kernels::QuantFormat(kernels::WeightFormat::q8), kernels::QuantFormat(kernels::WeightFormat::bf16)}) {
        Golden g(name);
        Folder out(name);
        size_t rows = 0;
        models::quantize_folder(nn::builtin_registry(), g.folder, out.path(),
                                {.body = s, .head = head, .report = [&](const models::QuantizationRecorder::Row& r) {
                                   ++rows;
                                   EXPECT_LT(r.error, r.scheme.format == kernels::WeightFormat::q8 ? 0.01 : 0.15)
                                       << r.name;
                                 }});
        EXPECT_GT(rows, 0u);
        models::LoadReport report;
        auto a = models::load_model(nn::builtin_registry(), out.path(), {}, &report);
        auto b = models::load_model(nn::builtin_registry(), g.folder, {.scheme = s, .head = head});
        EXPECT_TRUE(report.unused.empty() && report.missing.empty()) << name;
        Tensor x = infer::all_logits(*a, first(g, 16)), y = infer::all_logits(*b, first(g, 16));
        for (int64_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(x.item(i), y.item(i)) << name << " " << kernels::to_string(s);
      }
}

// Products mean the same for one row and for many; attention alone rounds to bf16 in prefill only.
TEST(Quantized, OneTokenAtATimeEqualsAllAtOnce) {
  Golden g("llama-gqa");
  for (const kernels::QuantFormat& s :
       {kernels::QuantFormat(kernels::WeightFormat::q8), kernels::QuantFormat(kernels::WeightFormat::q4, 32)}) {
    auto model = models::load_model(nn::builtin_registry(), g.folder, {.scheme = s});
    Tensor whole = infer::all_logits(*model, first(g, 40));
    infer::Session session(*model, DType::f32);
    for (size_t t = 0; t < 40; ++t) {
      std::span<const float> one = session.feed(first(g, 40).subspan(t, 1));
      for (size_t v = 0; v < one.size(); ++v)
        ASSERT_NEAR(static_cast<double>(one[v]), whole.item(static_cast<int64_t>(t * one.size() + v)), 0.05);
    }
  }
}

TEST(Quantized, CalibrationChangesScalesAndStaysClose) {
  Golden g("llama-gqa");
  Folder plain("plain"), fitted("fitted");
  const kernels::QuantFormat s(kernels::WeightFormat::q4, 32);
  models::quantize_folder(nn::builtin_registry(), g.folder, plain.path(), {.body = s});
  models::quantize_folder(nn::builtin_registry(), g.folder, fitted.path(), {.body = s, .calibration = first(g, 256)});
  EXPECT_NE(read_file(plain.path() / "model.safetensors"), read_file(fitted.path() / "model.safetensors"));
  auto exact = load_golden(g, DType::f32, true);
  Tensor want = infer::all_logits(*exact, first(g, 64));
  auto mean_square = [&](const fs::path& folder) {
    Tensor x = infer::all_logits(*models::load_model(nn::builtin_registry(), folder), first(g, 64));
    double e = 0;
    for (int64_t i = 0; i < x.size(); ++i) e += std::pow(x.item(i) - want.item(i), 2);
    return e;
  };
  EXPECT_LT(mean_square(fitted.path()), 1.2 * mean_square(plain.path()));
}

TEST(Quantized, DamagedAndForeignFoldersSaySo) {
  Golden g("llama-gqa");
  Folder out("damaged");
  models::quantize_folder(nn::builtin_registry(), g.folder, out.path(), {});
  auto message = [&] { return message_of([&] { models::load_model(nn::builtin_registry(), out.path()); }); };
  EXPECT_EQ(message(), "");
  EXPECT_NE(message_of([&] {
              models::load_model(nn::builtin_registry(), out.path(), {.pack = false});
            }).find("supports inference only"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              models::quantize_folder(nn::builtin_registry(), g.folder, out.path(), {});
            }).find("already exists"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              models::quantize_folder(nn::builtin_registry(), out.path(), out.path().string() + "2", {});
            }).find("quantize the original folder"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(out.path().string() + "2"));
  const fs::path file = out.path() / "model.safetensors";
  const std::string whole = read_file(file);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    const size_t at = changed.find(from);
    EXPECT_NE(at, changed.npos);
    changed.replace(at, from.size(), to);
    write_file(file, changed);
    return message();
  };
  write_file(file, whole.substr(0, whole.size() / 2));
  EXPECT_NE(message().find("truncated"), std::string::npos);
  EXPECT_NE(with("quern.packed.version\":\"1\"", "quern.packed.version\":\"7\"")
                .find("version '7', this program reads '1'"),
            std::string::npos);
  EXPECT_NE(with("\\\"n\\\":96", "\\\"n\\\":95").find("[95, "), std::string::npos);
  EXPECT_NE(with("\"packed.00001\"", "\"packed.99999\"").find("'packed.00001' is missing"), std::string::npos);
  write_file(file, read_file(g.folder / "model.safetensors"));
  EXPECT_NE(message().find("quern.packed.version is missing"), std::string::npos);
}

// The process's memory in bytes, of /proc/self/status: addresses, pages of mapped files that were touched, pages of its
// own.
struct ProcessMemory {
  int64_t size = 0, of_files = 0, own = 0;
  static ProcessMemory now() {
    ProcessMemory m;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      for (auto [name, value] : {std::pair{"VmSize:", &m.size}, {"RssFile:", &m.of_files}, {"RssAnon:", &m.own}})
        if (line.starts_with(name)) *value = std::stoll(line.substr(std::strlen(name))) << 10;
    return m;
  }
};

// A few hundred megabytes: the second start maps the file and reads next to nothing of it.
TEST(Quantized, ALargePackedFolderIsReadyAtOnce) {
  Golden g("llama-gqa");
  Json config = Json::read(g.folder / "config.json");
  for (auto [key, value] : {std::pair{"hidden_size", 2048},
                            {"intermediate_size", 8192},
                            {"num_hidden_layers", 2},
                            {"num_attention_heads", 16},
                            {"num_key_value_heads", 4},
                            {"head_dim", 128}})
    config.set(key, value);
  Folder dense("dense"), packed("packed");
  {
    auto model = models::build_model(nn::builtin_registry(), config);
    Rng rng(1);
    model->visit("", [&](const std::string&, grad::Parameter& p) {
      p.value = Tensor::empty(p.shape, DType::f32);
      for (float& v : p.value.span<float>()) v = static_cast<float>(rng.uniform() - 0.5) * 0.05f;
    });
    models::save_model(*model, dense.path(), DType::bf16);
  }
  models::quantize_folder(nn::builtin_registry(), dense.path(), packed.path(), {});
  EXPECT_GT(fs::file_size(packed.path() / "model.safetensors"), size_t{100} << 20);
  const int64_t bytes = static_cast<int64_t>(fs::file_size(packed.path() / "model.safetensors"));
  const ProcessMemory before = ProcessMemory::now();
  auto model = models::load_model(nn::builtin_registry(), packed.path());
  const ProcessMemory after = ProcessMemory::now();
  EXPECT_GE(after.size - before.size, bytes) << "the file is mapped";
  EXPECT_LT(after.of_files - before.of_files, bytes / 20) << "next to nothing of it is read";
  EXPECT_LT(after.own - before.own, bytes / 20) << "next to nothing of it is copied";
  EXPECT_TRUE(std::isfinite(infer::all_logits(*model, first(g, 2)).item(0)));
}

}  // namespace
}  // namespace quern
