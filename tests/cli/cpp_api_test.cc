// The C++ interface over the shared library: what is its own and not of the C interface below it.
#include <gtest/gtest.h>

#include <memory>
#include <quern/quern.hpp>
#include <string>

#include "tests/cli/shell.h"

namespace quern {
namespace {

struct Interrupted {};

class CppApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + scratch_ / "model").code, 0);
    model_ = std::make_unique<Model>(scratch_ / "model", LoadOptions{.format = "f32"});
    greedy_ = std::make_unique<Sampling>(*model_);
    greedy_->set("temperature", "0").set("ignore_eos", "true").set("max_tokens", "64");
  }
  // Throws at the second piece.
  OnText interrupting() {
    return [pieces = 0](std::string_view) mutable {
      if (++pieces == 2) throw Interrupted();
      return true;
    };
  }

  ScratchFolder scratch_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Sampling> greedy_;
};

TEST_F(CppApi, AReplyWhoseCallbackThrowsLeavesTheMessages) {
  Session chat(*model_), whole(*model_);
  for (Session* s : {&chat, &whole}) s->add("user", "Say \"mill\"\nand\tsea");
  const std::string before = chat.messages();
  EXPECT_THROW(chat.reply(*greedy_, interrupting()), Interrupted);
  EXPECT_EQ(chat.messages(), before);
  // Nothing of it is left in what comes next.
  EXPECT_EQ(chat.reply(*greedy_).text, whole.reply(*greedy_).text);
  EXPECT_EQ(chat.messages(), whole.messages());
  // Stopping is no error: the reply so far is the message.
  chat.add("user", "Again");
  const Generation some = chat.reply(*greedy_, [](std::string_view) { return false; });
  EXPECT_NE(chat.messages().find("\"Again\"},{\"role\":\"assistant\""), std::string::npos) << chat.messages();
  EXPECT_LT(some.tokens, 64);
}

TEST_F(CppApi, AGenerationWhoseCallbackThrowsKeepsWhatWasGenerated) {
  Session text(*model_);
  text.append("Once");
  const std::int64_t before = text.length();
  EXPECT_THROW(text.generate(*greedy_, interrupting()), Interrupted);
  EXPECT_GT(text.length(), before);
  EXPECT_LT(text.length(), before + 64);
  EXPECT_EQ(text.messages(), "[]");
}

}  // namespace
}  // namespace quern
