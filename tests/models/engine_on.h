// Test helpers of the engine: a fixture over whole models of every family, and model wrappers that observe or disturb
// forward passes.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/rng.h"
#include "quern/infer/cache/session.h"
#include "quern/infer/engine/engine.h"
#include "quern/models/model_wrapper.h"
#include "tests/models/golden.h"

namespace quern {

using Tokens = std::vector<int32_t>;

// The last has the states that no golden has: a dictionary (OVQ) and a delta rule's memory beside a window of keys.
constexpr const char* kEngineFamilies[] = {"zaya-2-4x2", "llama-gqa",     "mistral-window", "zamba2-2block-rope",
                                           "zamba-6",    "granite-h-moe", "falcon-h1",      "hybrid"};

inline std::string engine_family_name(const testing::TestParamInfo<const char*>& i) {
  std::string s = i.param;
  std::replace(s.begin(), s.end(), '-', '_');
  return s;
}

inline std::unique_ptr<models::Model> engine_model(const std::string& family) {
  if (family != "hybrid") return load_golden(Golden(family), DType::f32, true);
  auto m = models::build_model(nn::builtin_registry(),
                               Json::parse(R"({"model_type": "hybrid", "vocab_size": 96, "hidden_size": 32,
    "intermediate_size": 48, "mixers": {
      "near": {"type": "attention", "n_head": 2, "n_head_kv": 1, "head_dim": 16, "rotary_dims": 16, "window": 24},
      "far": {"type": "ovq", "n_head": 2, "head_dim": 16, "rows": 12, "chunk": 8},
      "delta": {"type": "gated_delta", "n_head": 2, "head_dim": 16}},
    "layers": ["near", "far", "near", "delta"]})"));
  nn::initialize(*m, 4);
  m->pack(nn::WeightPrepacking(DType::f32));
  return m;
}

class EngineOn : public testing::TestWithParam<const char*> {
 protected:
  EngineOn() : model_(engine_model(GetParam())) {}

  Tokens random_tokens(size_t n, uint64_t seed) const {
    Tokens t(n);
    Rng rng(seed);
    for (int32_t& x : t) x = static_cast<int32_t>(rng.uniform() * static_cast<double>(model_->vocab_size() - 1));
    return t;
  }
  static infer::Request greedy(Tokens prompt, int64_t n) {
    infer::Request r{.prompt = std::move(prompt)};
    r.options.sampling.temperature = 0;
    r.options.max_tokens = n;
    return r;
  }
  // The definition: one token after another, each from all logits of everything before it.
  Tokens by_definition(Tokens text, int64_t n) {
    Tokens out;
    for (int64_t i = 0; i < n; ++i) {
      Tensor all = infer::all_logits(*model_, text), last = all.narrow(0, all.dim(0) - 1, 1).clone();
      auto x = last.span<float>();
      out.push_back(static_cast<int32_t>(std::max_element(x.begin(), x.end()) - x.begin()));
      text.push_back(out.back());
    }
    return out;
  }

  std::unique_ptr<models::Model> model_;
};

// Every third token is banned, another third behind each token. `unsure`: no token is known to be allowed by itself.
struct Thirds : infer::TokenConstraint, infer::ConstraintSource {
  bool unsure;
  size_t words, count = 0;
  std::vector<uint64_t> bits = {};
  Thirds(bool u, size_t w) : unsure(u), words(w) {}
  static bool banned(int64_t token, size_t count) { return (token + static_cast<int64_t>(count)) % 3 == 0; }
  std::span<const uint64_t> allowed() override {
    bits.assign(words, ~uint64_t{0});
    for (size_t t = 0; t < 64 * words; ++t)
      if (banned(static_cast<int64_t>(t), count)) bits[t / 64] &= ~(uint64_t{1} << (t % 64));
    return bits;
  }
  bool allows(int32_t token) override { return !unsure && infer::TokenConstraint::allows(token); }
  bool may_end() const override { return false; }
  bool finished() const override { return false; }
  void accept(int32_t) override { ++count; }
  std::unique_ptr<infer::TokenConstraint> start() const override { return std::make_unique<Thirds>(unsure, words); }
};

}  // namespace quern
