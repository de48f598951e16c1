// Encoders against transformers and sentence-transformers: folders and expectations by tools/oracles/encoders/make.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/encoders/text_encoder.h"
#include "quern/tensor/zip_for_tests.h"

namespace quern::encoders {
namespace {
namespace fs = std::filesystem;

const fs::path kData = fs::path(QUERN_SOURCE_DIR) / "quern/encoders/testdata";

struct Texts {
  std::vector<std::string> texts, first, second;
  Texts() {
    const Json j = Json::read(kData / "texts.json");
    for (const Json& t : j.at("texts").as_array()) texts.push_back(t.as_string());
    for (const Json& p : j.at("pairs").as_array()) {
      first.push_back(p.as_array()[0].as_string());
      second.push_back(p.as_array()[1].as_string());
    }
  }
  std::vector<TextEncoder::Pair> pairs() const {
    std::vector<TextEncoder::Pair> out;
    for (size_t i = 0; i < first.size(); ++i) out.push_back({first[i], second[i]});
    return out;
  }
};

Tensor expected(const std::string& name, const char* what) {
  return SafetensorsFile(kData / name / "expected.safetensors").tensor(what).to(DType::f32);
}

// Relative to the largest entry.
double error_of(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double worst = 0, top = 0;
  for (int64_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double e = std::abs(a.item(i) - b.item(i));
    worst = std::max(worst, std::isnan(e) ? HUGE_VAL : e);
    top = std::max(top, std::abs(b.item(i)));
  }
  return worst / top;
}

struct IsaGuard {
  Isa before = active_isa();
  ~IsaGuard() { set_active_isa(before); }
};

template <class F>
void each_isa(F f) {
  IsaGuard guard;
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    SCOPED_TRACE(isa_name(isa));
    f();
  }
}

constexpr const char* kEmbedding[] = {"bert-mean", "bert-cased-max", "deberta-v2", "modernbert-cls"};
constexpr const char* kScoring[] = {"bert-rerank", "deberta-v3", "modernbert-labels"};

TEST(Encoders, EmbeddingsAreThoseOfTheReference) {
  const Texts t;
  each_isa([&] {
    for (const char* name : kEmbedding)
      EXPECT_LE(error_of(TextEncoder::load(kData / name).embed(t.texts).rows, expected(name, "embeddings")), 2e-5)
          << name;
  });
}

TEST(Encoders, ScoresAreThoseOfTheReference) {
  const Texts t;
  each_isa([&] {
    for (const char* name : kScoring) {
      const TextEncoder e = TextEncoder::load(kData / name);
      const Tensor want = expected(name, "scores");
      const auto n = static_cast<int64_t>(t.texts.size()), pairs = want.dim(0) - n;
      EXPECT_LE(error_of(e.score(t.texts).rows, want.narrow(0, 0, n).clone()), 2e-5) << name;
      EXPECT_LE(error_of(e.score_pairs(t.pairs()).rows, want.narrow(0, n, pairs).clone()), 2e-5) << name;
    }
  });
}

TEST(Encoders, LogitsAreThoseOfTheReference) {
  const Texts t;
  for (const char* name : kScoring) {
    const TextEncoder e = TextEncoder::load(kData / name);
    const Tensor want = expected(name, "logits");
    std::vector<int32_t> ids, offsets{0};
    std::vector<int64_t> rows;
    for (size_t i = 0; i < t.texts.size(); ++i) {
      const std::vector<int32_t> one = e.tokenizer().encode(t.texts[i]);
      if (static_cast<int64_t>(one.size()) > e.max_tokens()) continue;
      ids.insert(ids.end(), one.begin(), one.end());
      offsets.push_back(static_cast<int32_t>(ids.size()));
      rows.push_back(static_cast<int64_t>(i));
    }
    ASSERT_GE(rows.size(), 10u);
    const TokenBatch batch{ids, {}, offsets};
    const Tensor got = e.encoder().logits(e.encoder().hidden(batch), batch);
    for (size_t i = 0; i < rows.size(); ++i)
      for (int64_t k = 0; k < want.dim(1); ++k)
        EXPECT_NEAR(got.item(static_cast<int64_t>(i) * want.dim(1) + k), want.item(rows[i] * want.dim(1) + k), 2e-4)
            << name << " " << t.texts[static_cast<size_t>(rows[i])];
  }
}

// What stands beside a text in a call does not change its vector by more than rounding, and long texts are counted.
TEST(Encoders, TextsDoNotSeeEachOther) {
  const Texts t;
  for (const char* name : kEmbedding) {
    const TextEncoder e = TextEncoder::load(kData / name);
    const EncoderResult all = e.embed(t.texts);
    int64_t truncated = 0, tokens = 0;
    for (size_t i = 0; i < t.texts.size(); ++i) {
      const EncoderResult one = e.embed({&t.texts[i], 1});
      truncated += one.truncated, tokens += one.tokens;
      EXPECT_LE(error_of(all.rows.narrow(0, static_cast<int64_t>(i), 1).clone(), one.rows), 2e-6) << name << " " << i;
    }
    EXPECT_EQ(all.truncated, truncated);
    EXPECT_EQ(all.tokens, tokens);
    EXPECT_GT(all.truncated, 0) << name;
  }
}

// Quantized weights: the direction of a vector hardly moves.
TEST(Encoders, QuantizedWeightsKeepTheDirection) {
  const Texts t;
  using kernels::WeightFormat;
  for (const char* name : kEmbedding)
    for (const auto& [format, least] : {std::pair{WeightFormat::bf16, 0.999},
                                        {WeightFormat::q8, 0.998},
                                        {WeightFormat::q8a8, 0.99},
                                        {WeightFormat::q4, 0.6}}) {
      const Tensor got = TextEncoder::load(kData / name, format).embed(t.texts).rows,
                   want = expected(name, "embeddings");
      for (int64_t i = 0; i < got.dim(0); ++i) {
        double cosine = 0;
        for (int64_t k = 0; k < got.dim(1); ++k)
          cosine += got.item(i * got.dim(1) + k) * want.item(i * got.dim(1) + k);
        EXPECT_GE(cosine, least) << name << " " << format_name(format) << " " << i;
      }
    }
}

class Scratch {
 public:
  explicit Scratch(const char* from) : path(fs::path(testing::TempDir()) / "quern_encoder_folder") {
    fs::remove_all(path);
    fs::copy(kData / from, path, fs::copy_options::recursive);
  }
  ~Scratch() { fs::remove_all(path); }
  void write(const char* name, std::string_view text) const { std::ofstream(path / name) << text; }
  std::string refusal() const {
    try {
      TextEncoder::load(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  }
  fs::path path;
};

TEST(Encoders, RefusesByName) {
  const Scratch s("bert-mean");
  const auto expect = [&](std::string_view part) {
    EXPECT_NE(s.refusal().find(part), std::string::npos) << s.refusal();
  };
  EXPECT_EQ(s.refusal(), "nothing");
  s.write("1_Pooling/config.json", R"({"pooling_mode_lasttoken": true})");
  expect("pooling_mode_lasttoken is not supported");
  s.write("modules.json", R"([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  expect("sentence_transformers.models.Dense is not supported");
  fs::remove(s.path / "modules.json");
  fs::rename(s.path / "model.safetensors", s.path / "tf_model.h5");
  expect("tf_model.h5, which is not read");
  s.write("config.json", R"({"model_type": "t5"})");
  expect("model_type 't5' is not an encoder");
}

TEST(Encoders, ReadsWeightsOfPyTorch) {
  const Scratch s("bert-mean");
  NamedTensors tensors;
  const SafetensorsFile file(s.path / "model.safetensors");
  for (const auto& [name, e] : file.entries()) tensors.emplace_back(name, file.tensor(name).clone());
  const Tensor before = TextEncoder::load(s.path).embed(Texts().texts).rows;
  write_file(s.path / "pytorch_model.bin", torch_file_for_tests(tensors));
  fs::remove(s.path / "model.safetensors");
  const Tensor after = TextEncoder::load(s.path).embed(Texts().texts).rows;
  ASSERT_EQ(after.shape(), before.shape());
  for (int64_t i = 0; i < after.size(); ++i) ASSERT_EQ(after.item(i), before.item(i)) << i;
}

TEST(Encoders, OtherModelsFoldersMayHoldInfiniteNumbers) {
  const Scratch s("bert-mean");
  s.write("config.json", R"({"model_type": "nemotron_h", "time_step_limit": [0.0, Infinity]})");
  EXPECT_FALSE(is_encoder(s.path));
}

TEST(Encoders, ReadsVocabTxt) {
  const Scratch s("bert-mean");
  const TextEncoder before = TextEncoder::load(s.path);
  std::string vocab;
  for (int32_t id = 0; id < before.tokenizer().vocab_size(); ++id) vocab += before.tokenizer().id_to_token(id) + "\n";
  s.write("vocab.txt", vocab);
  s.write("tokenizer_config.json", R"({"do_lower_case": true})");
  fs::remove(s.path / "tokenizer.json");
  const TextEncoder after = TextEncoder::load(s.path);
  // The older form allows words of 100 characters, the file here of 30.
  for (const std::string& t : Texts().texts) {
    if (t.size() > 200 || t.starts_with("unbeliev")) continue;
    EXPECT_EQ(after.tokenizer().encode(t), before.tokenizer().encode(t)) << t;
  }
}

}  // namespace
}  // namespace quern::encoders
