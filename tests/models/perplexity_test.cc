// Perplexity against logits computed whole, and divergence where the answer is known.
#include "quern/infer/scoring/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/infer/cache/session.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

TEST(Perplexity, WindowsAgainstTheDefinition) {
  Golden g("llama-gqa");
  auto model = load_golden(g, DType::f32, true), other = load_golden(g, DType::bf16, true);
  std::span<const int32_t> tokens = std::span(g.tokens).first(150);
  constexpr int64_t kContext = 64;
  double nll = 0, kl = 0;
  int64_t n = 0, same = 0;
  for (int64_t at = 0; at < 150; at += kContext) {
    auto window = tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(kContext, 150 - at)));
    Tensor p = infer::all_logits(*model, window), q = infer::all_logits(*other, window);
    for (size_t t = 0; t + 1 < window.size(); ++t, ++n) {
      auto row = [&](const Tensor& x) { return x.view<const float, 2>().row(static_cast<int64_t>(t)); };
      auto log_z = [&](const float* x) {
        double z = 0;
        for (int64_t v = 0; v < p.dim(1); ++v) z += std::exp(static_cast<double>(x[v]));
        return std::log(z);
      };
      double zp = log_z(row(p)), zq = log_z(row(q));
      nll += zp - static_cast<double>(row(p)[window[t + 1]]);
      for (int64_t v = 0; v < p.dim(1); ++v) {
        double a = static_cast<double>(row(p)[v]) - zp, b = static_cast<double>(row(q)[v]) - zq;
        kl += std::exp(a) * (a - b);
      }
      same += std::max_element(row(p), row(p) + p.dim(1)) - row(p) ==
              std::max_element(row(q), row(q) + p.dim(1)) - row(q);
    }
  }
  infer::Perplexity got = infer::perplexity(*model, tokens, {.context = kContext});
  EXPECT_EQ(got.tokens, n);
  EXPECT_NEAR(got.nll, nll / static_cast<double>(n), 1e-5);
  EXPECT_GT(got.nll_error, 0);
  infer::Perplexity against = infer::perplexity(*other, tokens, {.context = kContext, .reference = model.get()});
  EXPECT_NEAR(against.reference_nll, got.nll, 1e-6);
  EXPECT_NEAR(against.kl, kl / static_cast<double>(n), 1e-5 + 0.01 * against.kl);
  EXPECT_GT(against.kl, 0);
  EXPECT_NEAR(against.same_top, static_cast<double>(same) / static_cast<double>(n), 1e-12);
  infer::Perplexity itself = infer::perplexity(*model, tokens, {.context = kContext, .reference = model.get()});
  EXPECT_NEAR(itself.kl, 0, 1e-6);
  EXPECT_EQ(itself.same_top, 1);
  // Two texts, each after its begin token, are foretold as if they were alone.
  std::vector<int32_t> texts = {7, 1, 2, 3, 7, 4, 5};
  infer::Perplexity both = infer::perplexity(*model, texts, {.context = kContext, .begin = 7}),
                    first = infer::perplexity(*model, std::span(texts).first(4), {.context = kContext}),
                    second = infer::perplexity(*model, std::span(texts).last(3), {.context = kContext});
  EXPECT_EQ(both.tokens, 5);
  EXPECT_NEAR(both.nll * 5, first.nll * 3 + second.nll * 2, 1e-4);
}

TEST(Perplexity, RefusesWhatItCannotMeasure) {
  Golden g("llama-gqa");
  auto model = load_golden(g, DType::f32, true);
  std::vector<int32_t> one = {1}, bad = {1, 9999};
  EXPECT_THROW(infer::perplexity(*model, one, {.context = 8}), Error);
  EXPECT_THROW(infer::perplexity(*model, bad, {.context = 8}), Error);
  EXPECT_THROW(infer::perplexity(*model, g.tokens, {.context = 1}), Error);
  EXPECT_THROW(infer::perplexity(*model, g.tokens, {.context = 1 << 30}), Error);
}

}  // namespace
}  // namespace quern
