// BPE training against `tokenizers` (tools/oracles/text/make_templates.py).
#include "quern/text/tokenizer/bpe_train.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::text {
namespace {

TEST(BpeTrain, LearnsWhatTheReferenceLearns) {
  Json g = Json::read(std::filesystem::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata/bpe_train.json");
  for (const Json& c : g.at("cases").as_array()) {
    BpeTrainOptions o;
    o.vocab_size = c.at("vocab_size").as_int();
    o.min_frequency = c.at("min_frequency").as_int();
    o.individual_digits = c.at("individual_digits").as_bool();
    o.special_tokens = {"<pad>", "<s>"};
    BpeTrainer trainer(o);
    for (const Json& line : g.at("text").as_array()) trainer.add(line.as_string());
    std::string json = trainer.train();
    Json model = Json::parse(json).at("model");
    EXPECT_EQ(model.at("merges").dump(), c.at("merges").dump());
    for (const auto& [token, id] : c.at("vocab").as_object())
      EXPECT_EQ(model.at("vocab").at(token).as_int(), id.as_int()) << token;
    EXPECT_EQ(model.at("vocab").as_object().size(), c.at("vocab").as_object().size());
    Tokenizer t = Tokenizer::from_json(json);
    for (const Json& line : g.at("text").as_array())
      EXPECT_EQ(t.decode(t.encode(line.as_string())), line.as_string());
  }
}

TEST(BpeTrain, RefusesWhatCannotBe) {
  BpeTrainOptions small, no_bos, fine;
  small.vocab_size = 100;
  no_bos.bos_token = "<s>";
  EXPECT_THROW(BpeTrainer{small}, Error);
  EXPECT_THROW(BpeTrainer{no_bos}, Error);
  fine.vocab_size = 300;
  BpeTrainer t(fine);
  EXPECT_THROW(t.add("\xff"), Error);
}

}  // namespace
}  // namespace quern::text
