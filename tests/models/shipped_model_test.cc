// The model that ships: it answers problems it never saw, and 8 and 4 bits cost it no more than they may.
#include <gtest/gtest.h>

#include "quern/data/problems.h"
#include "quern/infer/perplexity.h"
#include "quern/reason/curriculum_eval.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(QUERN_SOURCE_DIR) / "models" / "zaya-nano";

std::unique_ptr<Model> loaded(const char* scheme) {
  LoadOptions o{.dtype = DType::bf16};
  if (scheme) o.scheme = WeightScheme(parse_format(scheme, "scheme"));
  return load_model(test_registry(), kFolder, o);
}

TEST(ShippedModel, WorksOutHeldOutProblems) {
  auto model = loaded(nullptr);
  CurriculumEvalOptions o;
  o.count = 30;
  o.problems.max_level = 2;
  o.generate.max_tokens = 256;
  o.generate.sampling.temperature = 0;
  o.generate.stop_ids = load_generation_config(kFolder).eos_token_id;
  const CurriculumScores s =
      evaluate_curriculum(*model, load_tokenizer(kFolder), load_chat_template(kFolder, model->family()), o);
  EXPECT_EQ(s.all.asked, 60);
  EXPECT_GE(s.by_level.at(1).right, 23);  // the card: 91 % and 62 %
  EXPECT_GE(s.by_level.at(2).right, 12);
  EXPECT_EQ(s.unfinished, 0);
}

TEST(ShippedModel, FewerBitsCostLittle) {
  const Tokenizer tokenizer = load_tokenizer(kFolder);
  std::string text;
  for (uint64_t i = 0; i < 120; ++i) {
    const Problem p = curriculum_problem({.split = Split::held_out, .seed = 21}, i);
    text += "<|im_start|>user\n" + p.question + "<|im_end|>\n<|im_start|>assistant\n" + assistant_content(p) +
            "<|im_end|>\n";
  }
  const std::vector<int32_t> ids = tokenizer.encode(text, {.parse_special = true});
  auto reference = loaded(nullptr);
  auto increase = [&](const char* scheme) {
    auto model = loaded(scheme);
    const Perplexity p = perplexity(*model, ids, 512, tokenizer.bos_id(), reference.get());
    EXPECT_GT(p.tokens, 8000);
    return std::exp(p.nll - p.reference_nll) - 1;
  };
  EXPECT_LE(increase("q8"), 0.005);
  EXPECT_LE(increase("q4"), 0.05);
}

}  // namespace
}  // namespace quern
