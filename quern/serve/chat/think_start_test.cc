// Where an answer begins: inside a thinking that the prompt opens, before one of the model's own, or at once.
#include <gtest/gtest.h>

#include "quern/serve/chat/chat_request.h"

namespace quern::serve {
namespace {

text::Tokenizer tokenizer_with(const std::string& more) {
  return text::Tokenizer::from_json(R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "<": 1)" + more +
                                    R"(}}, "decoder": {"type": "ByteLevel"}})");
}

TEST(ThinkStart, IsAsPromptTemplateAndTokenizerSay) {
  using enum infer::ThinkStart;
  const text::Tokenizer spells = tokenizer_with(""), has_token = tokenizer_with(R"(, "<think>": 2)");
  const auto plain = text::ChatTemplate::parse("{% if think %}<think>{% endif %}a");
  const auto knows = text::ChatTemplate::parse("{#- <think>, then </think> -#}a");
  ChatRequest fresh, begun;
  begun.continues = true;
  const text::PromptText prompt{.text = "a"}, inside{.text = "a<think>\n"};
  EXPECT_EQ(think_start(inside, knows, spells, fresh), opened);
  EXPECT_EQ(think_start(inside, plain, has_token, begun), opened);
  EXPECT_EQ(think_start(prompt, knows, spells, begun), none) << "the request gave the beginning of the answer";
  EXPECT_EQ(think_start(prompt, knows, spells, fresh), may_spell);
  EXPECT_EQ(think_start(prompt, knows, has_token, fresh), may_open);
  EXPECT_EQ(think_start(prompt, plain, spells, fresh), may_open) << "no thinking but the one that the template opens";
}

TEST(ThinkStart, ThinkingThatIsOffIsNoPartOfAForm) {
  using enum infer::ThinkStart;
  const text::Tokenizer spells = tokenizer_with("");
  const Fields no_budget(Json::object());
  for (const char* wish :
       {R"("reasoning_effort": "none")", R"("chat_template_kwargs": {"enable_thinking": false})"}) {
    const Json body = Json::parse(fmt::format(R"({{"messages": [{{"role": "user", "content": "?"}}], {}}})", wish));
    for (const auto& [source, off] :
         {std::pair("{#- </think> -#}a", true), {"{{ enable_thinking }}</think>", false}}) {
      ChatRequest r;
      const auto chat_template = text::ChatTemplate::parse(source);
      const text::PromptText p = render_chat(chat_template, spells, Fields(body), r);
      r.think_start = think_start(p, chat_template, spells, r);
      EXPECT_EQ(r.think_start, may_spell);
      EXPECT_EQ(r.form_start(), off ? none : may_spell) << source;
      EXPECT_EQ(r.thinking_budget(no_budget).has_value(), off) << "the template sees to it";
      r.think_start = opened;
      EXPECT_EQ(r.form_start(), opened) << "it has to be closed first";
    }
  }
}

}  // namespace
}  // namespace quern::serve
