// The model that ships: it answers problems it never saw, and 8 and 4 bits cost it no more than they may.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <tuple>

#include "quern/gym/curriculum_problems.h"
#include "quern/infer/scoring/perplexity.h"
#include "quern/models/quantize.h"
#include "quern/reason/sampled_solutions.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(QUERN_SOURCE_DIR) / "models" / "zaya-nano";

std::unique_ptr<models::Model> loaded(const char* scheme) {
  models::LoadOptions o{.dtype = DType::bf16};
  if (scheme) o.scheme = kernels::QuantFormat(kernels::parse_format(scheme, "scheme"));
  return models::load_model(nn::builtin_registry(), kFolder, o);
}

TEST(ShippedModel, WorksOutHeldOutProblems) {
  auto model = loaded(nullptr);
  reason::CurriculumEvalOptions o;
  o.count = 30;
  o.problems.max_level = 2;
  o.generate.max_tokens = 256;
  o.generate.sampling.temperature = 0;
  o.generate.stop_ids = models::load_generation_config(kFolder).eos_token_id;
  const reason::CurriculumScores s = reason::evaluate_curriculum(
      *model, models::load_tokenizer(kFolder), models::load_chat_template(kFolder, model->family()), o);
  EXPECT_EQ(s.all.asked, 60);
  EXPECT_GE(s.by_level.at(1).right, 21);  // the card: 85.5 and 79.5 %
  EXPECT_GE(s.by_level.at(2).right, 18);
  EXPECT_EQ(s.unfinished, 0);
}

// Its own attempts at training problems: what an example shows is counted right, and groups are kept as asked.
TEST(ShippedModel, AttemptsBecomeExamples) {
  auto model = loaded(nullptr);
  const text::Tokenizer tokenizer = models::load_tokenizer(kFolder);
  const text::ChatTemplate chat_template = models::load_chat_template(kFolder, model->family());
  reason::OwnAttemptOptions o;
  o.eval.problems = {.split = data::Split::train, .seed = 5, .min_level = 2, .max_level = 2};
  o.eval.count = 12;
  o.eval.plan = reason::parse_plan("vote:4,tau=48");
  o.eval.generate.sampling.temperature = 1;
  o.eval.generate.max_tokens = 128;
  o.eval.generate.stop_ids = models::load_generation_config(kFolder).eos_token_id;
  o.shown = 2;
  auto made = [&](reason::OwnAttemptReport& r) {
    std::vector<std::string> lines;
    r = reason::own_attempts(
        *model, tokenizer, chat_template, o,
        [&](const reason::OwnExample& e, const reason::OwnAttemptReport&) { lines.push_back(e.line); });
    return lines;
  };
  reason::OwnAttemptReport all, some;
  const std::vector<std::string> lines = made(all);
  EXPECT_EQ(all.problems, 12);
  EXPECT_EQ(all.attempts, 48);
  EXPECT_EQ(all.all_right + all.mixed + all.none_right, 24);
  EXPECT_EQ(all.examples, 24);
  ASSERT_EQ(lines.size(), 24u);
  const reason::CurriculumScores same = reason::evaluate_curriculum(*model, tokenizer, chat_template, o.eval);
  EXPECT_EQ(static_cast<double>(all.right), same.all.candidates_right * 4) << "as the evaluation counts them";
  for (const std::string& line : lines) {
    const Json j = Json::parse(line);
    const std::string asked = j.at("messages").as_array()[0].at("content").as_string();
    const size_t from = asked.find("Question: ") + 10, to = asked.find('\n');
    size_t end = 0;
    const std::vector<std::string> pieces = text::aggregation_pieces(asked.substr(from, to - from), 2);
    for (const std::string& piece : pieces) {
      const size_t at = &piece == &pieces.back() ? asked.rfind(piece) : asked.find(piece, end);
      ASSERT_NE(at, asked.npos) << asked;
      EXPECT_TRUE(end == 0 || at > end) << "an empty attempt: " << asked;
      end = at + piece.size();
    }
    EXPECT_EQ(gym::final_answer(j.at("messages").as_array()[1].at("content").as_string()),
              gym::final_answer("Answer: " + j.at("answer").as_string()));
  }
  o.unanimous = o.hopeless = 0;
  EXPECT_EQ(static_cast<int64_t>(made(some).size()), all.mixed) << "the same attempts, mixed groups alone";
  o.shown = 5;
  EXPECT_THROW(made(some), Error);
}

TEST(ShippedModel, ContestedGroupsHoldARightAttemptInTheMinority) {
  auto model = loaded(nullptr);
  const text::Tokenizer tokenizer = models::load_tokenizer(kFolder);
  reason::OwnAttemptOptions o;
  o.eval.problems = {.split = data::Split::train, .seed = 6, .min_level = 4, .max_level = 4, .kinds = {"arithmetic"}};
  o.eval.count = 24;
  o.eval.plan = reason::parse_plan("vote:8,tau=64");
  o.eval.generate.sampling.temperature = 1.3;
  o.eval.generate.max_tokens = 128;
  o.eval.generate.stop_ids = models::load_generation_config(kFolder).eos_token_id;
  o.contested = 2, o.verdicts = true;
  int64_t plain = 0, contested = 0;
  const reason::OwnAttemptReport r = reason::own_attempts(
      *model, tokenizer, models::load_chat_template(kFolder, model->family()), o,
      [&](const reason::OwnExample& e, const reason::OwnAttemptReport&) {
        ++(e.contested ? contested : plain);
        const Json j = Json::parse(e.line);
        const std::vector<Json>& said = j.at("messages").as_array();
        const std::string asked = said[0].at("content").as_string(), content = said[1].at("content").as_string(),
                          steps = content.substr(0, content.find("\n</think>"));  // and what leads to them
        std::string verdict;
        int64_t right = 0;
        std::map<std::string, int64_t> wrong;  // by all that is shown
        for (int k = 1; k <= 4; ++k) {
          const size_t from = asked.find(fmt::format("Attempt {}:\n", k)) + 11;
          const std::string end =
              asked.substr(from, (k < 4 ? asked.find("\n\nAttempt", from) : asked.find_last_not_of('\n') + 1) - from);
          const std::string shown = end.substr(0, end.find_last_not_of('\n') + 1);
          const bool holds = !shown.empty() && steps.ends_with(shown);
          if (holds)
            ++right;
          else
            ++wrong[shown];
          verdict += fmt::format("{}{} {}", k > 1 ? ", " : "", k, holds ? "right" : "wrong");
        }
        EXPECT_TRUE(content.starts_with("<think>\n" + verdict + ".\n")) << asked << content;
        if (!e.contested) return;
        int64_t maximum = 0;
        for (const auto& [end, n] : wrong) maximum = std::max(maximum, n);
        EXPECT_GE(right, 1) << asked;
        EXPECT_GE(maximum, right) << asked;
      });
  EXPECT_EQ(r.contested, contested);
  EXPECT_EQ(r.examples, plain);
  EXPECT_EQ(plain, 48);
  EXPECT_GT(contested, 4);
}

std::vector<int32_t> chats(const text::Tokenizer& tokenizer, data::Split split, uint64_t count) {
  std::string text;
  for (uint64_t i = 0; i < count; ++i) {
    const gym::Problem p = gym::curriculum_problem({.split = split, .seed = 21}, i);
    text += "<|im_start|>user\n" + p.question + "<|im_end|>\n<|im_start|>assistant\n" + gym::assistant_content(p) +
            "<|im_end|>\n";
  }
  return tokenizer.encode(text, {.parse_special = true});
}

// Prose that no model was trained on: this project's log, whose dated entries do not change. (What problems ask is drawn
// at random and was never learned: there a less certain model may lose less, so of chats only the divergence counts.)
std::vector<int32_t> prose(const text::Tokenizer& tokenizer) {
  std::string text;
  for (const char* entry : {"2026-11-21-serving.md", "2026-11-21-recall.md", "2026-11-21-nano.md"}) {
    std::ifstream in(fs::path(QUERN_SOURCE_DIR) / "docs/log" / entry);
    EXPECT_TRUE(in) << entry;
    text.append(std::istreambuf_iterator<char>(in), {});
  }
  return tokenizer.encode(text.substr(0, 20000));
}

TEST(ShippedModel, FewerBitsCostLittle) {
  const text::Tokenizer tokenizer = models::load_tokenizer(kFolder);
  const std::vector<int32_t> words = prose(tokenizer), talk = chats(tokenizer, data::Split::held_out, 30);
  auto reference = loaded(nullptr);
  for (const auto& [scheme, maximum, divergence] : {std::tuple{"q8", 0.005, 0.01}, std::tuple{"q4", 0.05, 0.15}}) {
    auto model = loaded(scheme);
    const infer::Perplexity p =
        infer::perplexity(*model, words, {.begin = tokenizer.bos_id(), .reference = reference.get()});
    EXPECT_GT(p.tokens, 4000);
    EXPECT_LE(std::exp(p.nll - p.reference_nll) - 1, maximum) << scheme;
    EXPECT_LE(infer::perplexity(*model, talk, {.begin = tokenizer.bos_id(), .reference = reference.get()}).kl,
              divergence)
        << scheme;
  }
}

// Fitted to chats of training problems, measured on held-out ones: nearer to bf16 than without.
TEST(ShippedModel, CalibrationPays) {
  const text::Tokenizer tokenizer = models::load_tokenizer(kFolder);
  const std::vector<int32_t> fitted_to = chats(tokenizer, data::Split::train, 30),
                             ids = chats(tokenizer, data::Split::held_out, 20);
  auto reference = loaded(nullptr);
  auto divergence = [&](std::span<const int32_t> calibration) {
    const fs::path out = fs::temp_directory_path() / fmt::format("quern_calibrated_{}", ::getpid());
    fs::remove_all(out);
    models::quantize_folder(nn::builtin_registry(), kFolder, out,
                            {.body = kernels::QuantFormat(kernels::WeightFormat::q4), .calibration = calibration});
    const double kl = infer::perplexity(*models::load_model(nn::builtin_registry(), out), ids,
                                        {.begin = tokenizer.bos_id(), .reference = reference.get()})
                          .kl;
    fs::remove_all(out);
    return kl;
  };
  const double plain = divergence({}), fitted = divergence(fitted_to);
  EXPECT_LT(fitted, 0.9 * plain) << plain;
}

}  // namespace
}  // namespace quern
