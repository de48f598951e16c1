// Longer contexts by settings: logits beyond the trained length against transformers (tools/oracles/models/make_context.py), the
// lengths that models accept, and what is said of settings that change nothing or cannot be.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/config_file.h"
#include "quern/models/context/context_settings.h"
#include "quern/models/context_length.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using models::ContextSettings;

constexpr int64_t kTrained = 48, kLength = 240;

// The checkpoint of a golden as if it had been trained on kTrained tokens.
class Shortened {
 public:
  explicit Shortened(const std::string& golden, bool old_form = false)
      : g_(golden), folder_(fs::temp_directory_path() / fmt::format("quern-context-{}-{}", golden, ::getpid())) {
    fs::create_directories(folder_);
    fs::create_symlink(g_.folder / "model.safetensors", folder_ / "model.safetensors");
    config = models::read_config_file(g_.folder / "config.json");
    config.set("max_position_embeddings", kTrained);
    if (old_form) {
      config.set("rope_theta", config.at("rope_parameters").at("rope_theta"));
      config.set("rope_scaling", Json());
      config.erase("rope_parameters");
    }
    write_file(folder_ / "config.json", config.dump());
  }
  ~Shortened() { fs::remove_all(folder_); }
  std::unique_ptr<models::Model> load(const ContextSettings& s, bool pack,
                                      std::vector<std::string>* notes = nullptr) {
    models::LoadReport report;
    auto m = models::load_model(nn::builtin_registry(), folder_,
                                models::with_context(nn::builtin_registry(), {.dtype = DType::f32, .pack = pack}, s),
                                &report);
    if (notes) *notes = report.notes;
    return m;
  }
  std::span<const int32_t> ids() const { return std::span(g_.tokens).first(kLength); }
  Json config;

 private:
  Golden g_;
  fs::path folder_;
};

struct Case {
  const char* file;
  ContextSettings settings;
};
const Case kCases[] = {
    {"none", {.context = kLength}},
    {"linear-4", {.context = kLength, .rope_scaling = "linear:4"}},
    {"dynamic-4", {.context = kLength, .rope_scaling = "dynamic:4"}},
    {"yarn-4", {.context = kLength, .rope_scaling = "yarn:4"}},
    {"yarn-2.5", {.context = kLength, .rope_scaling = "yarn:2.5"}},
    {"llama3-4", {.context = kLength, .rope_scaling = "llama3:4"}},
    {"theta-500", {.context = kLength, .rope_theta = 500}},
    {"yarn-4-theta-500", {.context = kLength, .rope_scaling = "yarn:4", .rope_theta = 500}},
};

constexpr std::pair<const char*, const char*> kModels[] = {
    {"llama", "llama-mha"}, {"zamba2", "zamba2-2block-rope"}, {"bamba", "bamba"}, {"falcon-h1", "falcon-h1"}};

double error_of(models::Model& model, std::span<const int32_t> ids, const Tensor& want) {
  const Tensor got = infer::all_logits(model, ids);
  double worst = 0;
  const int64_t step = kLength / want.dim(0);
  for (int64_t i = 0; i < want.dim(0); ++i)
    worst = std::max(worst, relative_error(got.narrow(0, (i + 1) * step - 1, 1), want.narrow(0, i, 1)));
  return worst;
}

TEST(LongContext, LogitsBeyondTheTrainedLengthEqualTransformers) {
  for (const auto& [name, golden] : kModels)
    for (const bool old_form : {false, true}) {
      Shortened checkpoint(golden, old_form);
      for (const Case& c : kCases) {
        const Tensor want = load_npy(
            (fs::path(QUERN_SOURCE_DIR) / "tests/goldens/context" / fmt::format("{}-{}.npy", name, c.file)).string());
        for (const bool pack : {false, true}) {
          const auto model = checkpoint.load(c.settings, pack);
          EXPECT_LE(error_of(*model, checkpoint.ids(), want), 1e-4)
              << name << ", " << c.file << (old_form ? ", old form" : "") << ", packed " << pack;
          EXPECT_EQ(model->max_positions(), kLength);
        }
      }
    }
}

TEST(LongContext, OtherPositionsGiveOtherLogits) {  // so that the test above can fail
  for (const auto& [name, golden] : kModels) {
    Shortened checkpoint(golden);
    const auto plain = checkpoint.load({.context = kLength}, true);
    const Tensor want = infer::all_logits(*plain, checkpoint.ids());
    for (const Case& c : kCases) {
      if (c.settings.rope_name().empty()) continue;
      EXPECT_GE(relative_error(infer::all_logits(*checkpoint.load(c.settings, true), checkpoint.ids()), want), 1e-2)
          << name << ", " << c.file;
    }
  }
}

// A cache does not change what tokens see: chunks, then single tokens.
TEST(LongContext, ScaledZamba2ContinuesFromItsCache) {
  Shortened checkpoint("zamba2-2block-rope");
  for (const char* scaling : {"linear:4", "yarn:4"}) {
    const auto model = checkpoint.load({.context = kLength, .rope_scaling = scaling}, true);
    const Tensor whole = infer::all_logits(*model, checkpoint.ids());
    mixers::SequenceState state(model->sites(DType::f32));
    int64_t n = 0;
    for (const int64_t piece : {100, 60, 1, 1, 78}) {
      grad::Tape tape(grad::Tape::inference);
      const grad::Var h =
          model->hidden(tape, checkpoint.ids().subspan(static_cast<size_t>(n), static_cast<size_t>(piece)),
                        mixers::Batch::resume({&state}, {piece}));
      n += piece;
      EXPECT_LE(relative_error(model->logits(tape, h).value.narrow(0, piece - 1, 1), whole.narrow(0, n - 1, 1)), 1e-4)
          << scaling << ", token " << n;
    }
  }
}

std::vector<std::string> notes_of(const Json& config, const ContextSettings& s) {
  std::vector<std::string> notes;
  models::with_context(nn::builtin_registry(), config, s, notes);
  return notes;
}

int64_t length_of(const Json& config, const ContextSettings& s) {
  std::vector<std::string> notes;
  return models::build_model(nn::builtin_registry(), models::with_context(nn::builtin_registry(), config, s, notes))
      ->max_positions();
}

Json llama(const char* rope = R"({"rope_type": "default", "rope_theta": 10000.0})") {
  return Json::parse(fmt::format(R"({{"model_type": "llama", "vocab_size": 96, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 128,
      "rope_parameters": {}}})",
                                 rope));
}

TEST(LongContext, FactorsLengthenWhatIsAccepted) {
  EXPECT_EQ(length_of(llama(), {.rope_theta = 5e5}), 128);
  for (const char* type : {"linear", "dynamic", "yarn", "llama3"})
    EXPECT_EQ(length_of(llama(), {.rope_scaling = fmt::format("{}:4", type)}), 512) << type;
  EXPECT_EQ(length_of(llama(), {.context = 300, .rope_scaling = "yarn:4"}), 300);
  EXPECT_EQ(length_of(llama(), {.context = 64}), 64);
  // A factor is of the original context, and the checkpoint's own scaling gives way.
  const char* yarn = R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32,
                         "attention_factor": 1.5, "beta_fast": 16})";
  EXPECT_EQ(length_of(llama(yarn), {.rope_scaling = "yarn:8"}), 256);
  EXPECT_EQ(length_of(llama(yarn), {.rope_scaling = "none"}), 128);
  std::vector<std::string> notes;
  const Json changed = models::with_context(nn::builtin_registry(), llama(yarn), {.rope_scaling = "yarn:8"}, notes);
  const Json& rope = changed.at("rope_parameters");
  EXPECT_EQ(rope.find("attention_factor"), nullptr) << "it was of the old factor";
  EXPECT_EQ(rope.at("beta_fast"), Json(16));
  EXPECT_EQ(rope.at("original_max_position_embeddings"), Json(32));
}

TEST(LongContext, ALengthCanBeAskedForAtLeast) {
  for (const int64_t n : {64, 128}) {
    EXPECT_EQ(length_of(llama(), {.context = n, .at_least = true}), 128);
    EXPECT_TRUE(notes_of(llama(), {.context = n, .at_least = true}).empty());
  }
  EXPECT_EQ(length_of(llama(), {.context = 300, .at_least = true}), 300);
  EXPECT_EQ(length_of(llama(), {.context = 300, .rope_scaling = "yarn:4", .at_least = true}), 512);
}

TEST(LongContext, WhatChangesNothingIsSaid) {
  const auto one = [](const ContextSettings& s, const char* part) {
    const std::vector<std::string> notes = notes_of(llama(), s);
    ASSERT_EQ(notes.size(), 1u) << part;
    EXPECT_NE(notes[0].find(part), std::string::npos) << notes[0];
  };
  one({.context = 128}, "context 128 changes nothing");
  one({.rope_scaling = "none"}, "rope_scaling none changes nothing");
  one({.rope_theta = 1e4}, "rope_theta 10000 changes nothing");
  one({.context = 129}, "beyond the 128 that this model was trained for");
  one({.context = 513, .rope_scaling = "linear:4"}, "beyond the 512 that this model was trained and scaled for");
  EXPECT_TRUE(notes_of(llama(), {.context = 100}).empty());
  const std::vector<std::string> same =
      notes_of(llama(R"({"rope_type": "linear", "factor": 4})"), {.rope_scaling = "linear:4"});
  ASSERT_EQ(same.size(), 1u);
  EXPECT_NE(same[0].find("linear:4 changes nothing"), std::string::npos) << same[0];
  EXPECT_TRUE(notes_of(llama(), {.context = 512, .rope_scaling = "linear:4"}).size() <= 1);
}

TEST(LongContext, WhatCannotBeIsRefused) {
  const auto refused = [](const Json& config, const ContextSettings& s, const char* part) {
    const std::string m = message_of([&] { notes_of(config, s); });
    EXPECT_NE(m.find(part), std::string::npos) << part << " | " << m;
  };
  refused(llama(), {.rope_scaling = "ntk:4"}, "rope_scaling 'ntk:4': expected none, linear:FACTOR");
  refused(llama(), {.rope_scaling = "yarn"}, "the factor is missing, for example yarn:4");
  for (const char* text : {"yarn:", "yarn:x", "yarn:4x", "yarn:1", "yarn:0.5", "yarn:-4", "yarn:nan", "yarn:inf"})
    refused(llama(), {.rope_scaling = text}, "expected a factor above 1");
  refused(llama(), {.context = 0}, "context: 0 is outside");
  refused(llama(), {.rope_theta = -1}, "rope_theta: -1 is not above 0");
  const Golden plain("zamba2-2block"), zamba("zamba-6");
  for (const Golden* g : {&plain, &zamba}) {
    const Json config = models::read_config_file(g->folder / "config.json");
    refused(config, {.rope_scaling = "yarn:4"}, "has no rotary positions");
    refused(config, {.rope_theta = 1e6}, "has no rotary positions");
  }
  const Json zaya = models::read_config_file(Golden("zaya-2-4x1").folder / "config.json");
  refused(zaya, {.rope_scaling = "linear:4"}, "models of family zaya have no scaled rotary positions");
}

TEST(LongContext, EveryFamilyTakesALength) {
  for (const char* name : {"llama-mha", "qwen3-dynamic", "zamba2-2block-rope", "zamba2-2block", "zamba-6",
                           "falcon-h1", "granite-h", "bamba", "nemotron-h", "zaya-2-4x1"}) {
    fs::path folder = Golden(name).folder;
    if (!fs::exists(folder / "config.json")) folder = fs::directory_iterator(folder)->path();
    const Json config = models::read_config_file(folder / "config.json");
    EXPECT_EQ(length_of(config, {.context = 123456}), 123456) << name;
    EXPECT_EQ(length_of(config, {.context = 7}), 7) << name;
  }
}

TEST(LongContext, ModelsWithoutPositionsTakeAnyLength) {
  for (const char* name : {"zamba2-2block", "zamba-6"}) {
    const auto model =
        models::build_model(nn::builtin_registry(), models::read_config_file(Golden(name).folder / "config.json"));
    EXPECT_EQ(model->max_positions(), models::kAnyLength) << name;
    EXPECT_EQ(models::context_length(*model), models::trained_length(*model)) << name;
    EXPECT_EQ(models::trained_length(*model), 4096) << name;
  }
  Shortened checkpoint("zamba2-2block");
  const auto model = checkpoint.load({}, true);
  EXPECT_EQ(models::context_length(*model), kTrained);
  infer::Session session(*model);
  EXPECT_NO_THROW(session.feed(checkpoint.ids()));
  const auto bounded = checkpoint.load({.context = 100}, true);
  infer::Session short_session(*bounded);
  EXPECT_NE(message_of([&] { short_session.feed(checkpoint.ids()); }).find("limit is 100"), std::string::npos);
}

TEST(LongContext, RotaryMixersOfHybridsTakeAnotherBase) {
  const Json config = Json::parse(R"({"model_type": "hybrid", "vocab_size": 32, "hidden_size": 16,
      "intermediate_size": 16, "max_position_embeddings": 64, "layers": ["near", "far"],
      "mixers": {"near": {"type": "attention", "n_head": 2, "n_head_kv": 2, "head_dim": 8, "rotary_dims": 8},
                 "far": {"type": "attention", "n_head": 2, "n_head_kv": 2, "head_dim": 8}}})");
  std::vector<std::string> notes;
  const Json changed = models::with_context(nn::builtin_registry(), config, {.rope_theta = 500}, notes);
  EXPECT_EQ(changed.at("mixers").at("near").at("rope_theta"), Json(500.0));
  EXPECT_EQ(changed.at("mixers").at("far").find("rope_theta"), nullptr);
  EXPECT_TRUE(notes.empty());
  EXPECT_NE(message_of([&] { notes_of(config, {.rope_scaling = "yarn:4"}); }).find("family hybrid"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
