// Adapters that rows choose, on one base: the logits of transformers and PEFT, whatever stands beside; the same bits alone and
// beside fifteen sequences with other adapters; and a prefix cache that keeps them apart.
#include <gtest/gtest.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/kernels/cpu/products.h"
#include "quern/models/adapter_sites.h"
#include "tests/models/engine_on.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using kernels::WeightFormat;

struct Based {
  fs::path adapter;
  Golden base;
  models::AdapterSites sites;
  std::unique_ptr<models::Model> model;

  explicit Based(const std::string& name, WeightFormat format = WeightFormat::f32)
      : adapter(fs::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "adapters" / name),
        base([&] {
          std::string text = read_file(adapter / "base.txt");
          return text.substr(0, text.find('\n'));
        }()),
        sites(format == WeightFormat::f32 ? DType::f32 : DType::bf16) {
    models::LoadOptions o{.paths = &sites};
    if (format != WeightFormat::f32) o.scheme = kernels::QuantFormat(format);
    model = models::load_model(nn::builtin_registry(), base.folder, o);
  }
  nn::ChosenAdapters golden(float scale = 1) const { return {{sites.read(adapter, *model), scale}}; }
};

// Golden rows below `n` of a pass over three copies of the golden's tokens, the middle one with the adapter.
Tensor middle_logits(Based& b, const nn::ChosenAdapters& chosen, int64_t n) {
  std::vector<int32_t> ids;
  for (int i = 0; i < 3; ++i) ids.insert(ids.end(), b.base.tokens.begin(), b.base.tokens.begin() + n);
  const nn::ChosenAdapters other = {{b.sites.drawn(3, 5)}};
  nn::BatchAdapters rows;
  rows.add(n, other), rows.add(n, chosen), rows.add(n, {});
  grad::Tape tape(grad::Tape::inference);
  tape.adapters = &rows;
  const Tensor hidden = b.model->hidden(tape, ids, mixers::Batch::documents({n, n, n})).value;
  tape.adapters = nullptr;
  const Tensor all = b.model->logits(tape, hidden.narrow(0, n, n)).value.to(DType::f32);
  int64_t count = 0;
  for (int32_t r : b.base.rows) count += r < n;
  Tensor picked = Tensor::empty({count, all.dim(1)}, DType::f32);
  for (int64_t i = 0; i < count; ++i)
    picked.narrow(0, i, 1).copy_from(all.narrow(0, b.base.rows[static_cast<size_t>(i)], 1));
  return picked;
}

class RowAdapters : public testing::TestWithParam<const char*> {};

TEST_P(RowAdapters, LogitsEqualPeftBesideOtherRows) {
  Based b(GetParam());
  const Tensor want = load_npy((b.adapter / "logits.npy").string());
  EXPECT_LE(relative_error(middle_logits(b, b.golden(), 64), want), 1e-5);
  EXPECT_GT(relative_error(middle_logits(b, {}, 64), want), 1e-3);
  const nn::ChosenAdapters half = b.golden(0.5F), twice = {half[0], half[0]};  // two of one request add up
  EXPECT_LE(relative_error(middle_logits(b, twice, 64), want), 1e-5);
}

infer::Request request(uint64_t seed, size_t length, const nn::ChosenAdapters& adapters, const models::Model& m) {
  Rng rng(seed);
  infer::Request r;
  for (size_t i = 0; i < length; ++i)
    r.prompt.push_back(static_cast<int32_t>(rng.uniform() * static_cast<double>(m.vocab_size() - 1)));
  r.options = {.sampling = {.top_k = 20, .seed = seed}, .max_tokens = 8, .adapters = adapters};
  return r;
}

struct ExactRows {
  bool before = kernels::exact_rows();
  ~ExactRows() { kernels::set_exact_rows(before); }
};

TEST_P(RowAdapters, ExactRowsHaveTheSameBitsAloneAndBesideFifteenOthers) {
  const ExactRows restored;
  for (WeightFormat format : {WeightFormat::bf16, WeightFormat::q8, WeightFormat::q4}) {
    Based b(GetParam(), format);
    std::vector<nn::ChosenAdapters> others;
    for (uint64_t i = 0; i < 15; ++i)
      others.push_back(i % 5 == 4 ? nn::ChosenAdapters{}
                                  : nn::ChosenAdapters{{b.sites.drawn(1 + static_cast<int64_t>(i), i)}});
    const infer::EngineOptions o{.kv = DType::bf16, .chunk = 64, .max_sequences = 16, .exact = true};
    for (const nn::ChosenAdapters& own : {b.golden(), b.golden(0.25F), nn::ChosenAdapters{}}) {
      const infer::Request r = request(7, 70, own, *b.model);
      const infer::Generated alone = infer::Engine(*b.model, o).run(r);
      infer::Engine crowd(*b.model, o);
      for (uint64_t i = 0; i < 15; ++i) crowd.submit(request(100 + i, 1 + 9 * i, others[i], *b.model));
      EXPECT_EQ(crowd.run(r).logprobs, alone.logprobs) << kernels::format_name(format);
      EXPECT_EQ(crowd.run(r).logprobs, alone.logprobs) << kernels::format_name(format) << ", from the cache";
    }
  }
}

TEST_P(RowAdapters, ThePrefixCacheKeepsThemApart) {
  Based b(GetParam());
  infer::Engine engine(*b.model, {.kv = DType::f32});
  const nn::ChosenAdapters golden = b.golden();
  nn::ChosenAdapters half = golden;
  half[0].scale = 0.5F;
  std::vector<std::vector<double>> first;
  for (const nn::ChosenAdapters& c : {golden, half, nn::ChosenAdapters{}}) {
    const infer::Generated g = engine.run(request(3, 60, c, *b.model));
    EXPECT_EQ(g.cached_tokens, 0);
    first.push_back(g.logprobs);
  }
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[0], first[2]);
  for (const nn::ChosenAdapters& c : {golden, half, nn::ChosenAdapters{}})
    EXPECT_GT(engine.run(request(3, 60, c, *b.model)).cached_tokens, 0);
}

INSTANTIATE_TEST_SUITE_P(All, RowAdapters,
                         testing::Values("llama", "qwen2", "zaya", "zamba", "zamba2-1block", "zamba2-2block",
                                         "zamba2-one-layer", "granite-h", "falcon-h1", "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(RowAdapters, RefusesWhatRowsCannotChoose) {
  Based b("llama");
  const fs::path saved = b.adapter.parent_path() / "llama-saved";
  EXPECT_FALSE(models::AdapterSites::only_beside(saved));
  EXPECT_NE(message_of([&] { b.sites.read(saved, *b.model); }).find("whole tensors"), std::string::npos);
  EXPECT_NE(message_of([&] { b.sites.read(b.adapter.parent_path() / "zaya", *b.model); }).find("adapter_model"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
