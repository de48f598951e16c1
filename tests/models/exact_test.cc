// EngineOptions::exact: a request gives the same tokens and logprobs, to the bit, alone and in company, in every family and
// every weight format.
#include <gtest/gtest.h>

#include "quern/kernels/cpu/products.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

using kernels::WeightFormat;

std::unique_ptr<models::Model> model_in(const std::string& family, WeightFormat format) {
  if (family == "hybrid") {
    auto m = engine_model(family);
    return m;
  }
  return models::load_model(nn::builtin_registry(), Golden(family).folder, {.scheme = kernels::QuantFormat(format)});
}

class ExactRows {
 public:
  ~ExactRows() { kernels::set_exact_rows(before_); }

 private:
  bool before_ = kernels::exact_rows();
};

infer::Request request(size_t n, uint64_t seed, int64_t vocabulary, infer::SpeculationOptions speculate = {}) {
  Rng rng(seed);
  infer::Request r;
  for (size_t i = 0; i < n; ++i)
    r.prompt.push_back(static_cast<int32_t>(rng.uniform() * static_cast<double>(vocabulary - 1)));
  r.options = {.sampling = {.top_k = 20, .seed = seed}, .max_tokens = 12};
  r.options.speculate = speculate;
  return r;
}

class Exact : public testing::TestWithParam<const char*> {};

TEST_P(Exact, CompanyDoesNotShow) {
  const ExactRows before;
  for (WeightFormat format : {WeightFormat::bf16, WeightFormat::q8, WeightFormat::q4, WeightFormat::q8a8}) {
    const auto model = model_in(GetParam(), format);
    const int64_t vocabulary = model->vocab_size();
    for (DType kv : {DType::bf16, DType::i8}) {
      const infer::EngineOptions o{.kv = kv, .chunk = 64, .exact = true};
      for (size_t length : {size_t{3}, size_t{45}, size_t{130}}) {
        const infer::Request r = request(length, 7, vocabulary);
        const infer::Generated alone = infer::Engine(*model, o).run(r);
        infer::Engine crowd(*model, o);
        for (uint64_t i = 0; i < 6; ++i) crowd.submit(request(2 + 40 * i, 100 + i, vocabulary));
        const infer::Generated g = crowd.run(r);
        EXPECT_EQ(g.tokens, alone.tokens) << kernels::format_name(format) << ", prompt of " << length;
        EXPECT_EQ(g.logprobs, alone.logprobs) << kernels::format_name(format) << ", prompt of " << length;
        const infer::Generated again = crowd.run(r);  // from the prefix cache
        EXPECT_EQ(again.logprobs, alone.logprobs)
            << kernels::format_name(format) << ", cached " << again.cached_tokens;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Exact, testing::ValuesIn(kEngineFamilies), engine_family_name);

}  // namespace
}  // namespace quern
