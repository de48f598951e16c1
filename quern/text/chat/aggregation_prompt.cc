// The wording of the aggregation prompt.
#include "quern/text/chat/aggregation_prompt.h"

#include <fmt/format.h>

#include "quern/base/error.h"

namespace quern::text {
namespace {

constexpr std::string_view kSeam = "\xee\x80\x80";  // U+E000, private use: where a tail goes

}  // namespace

std::vector<std::string> aggregation_pieces(std::string_view question, int n) {
  QUERN_CHECK(n >= 1, "an aggregation prompt of {} attempts", n);
  std::vector<std::string> pieces;
  pieces.push_back(
      fmt::format("Question: {}\n\nBelow are the ends of {} attempts. Each may be unfinished or wrong. Use what "
                  "holds, check where they differ, and answer the question.\n\nAttempt 1:\n",
                  question, n));
  for (int i = 2; i <= n; ++i) pieces.push_back(fmt::format("\n\nAttempt {}:\n", i));
  pieces.push_back("\n");
  return pieces;
}

std::vector<int32_t> aggregation_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer, Json messages,
                                        std::span<const std::vector<int32_t>> tails) {
  Json& last = messages.items().back();
  const std::string question = last.at("content", "message").as_string("content of the last message");
  std::string marked;
  for (const std::string& piece : aggregation_pieces(question, static_cast<int>(tails.size()))) {
    if (!marked.empty()) marked += kSeam;
    marked += piece;
  }
  last.set("content", marked);
  const PromptText rendered = chat_prompt(chat_template, tokenizer, messages);
  std::vector<int32_t> prompt;
  const auto add = [&](std::span<const int32_t> ids) { prompt.insert(prompt.end(), ids.begin(), ids.end()); };
  size_t from = 0;
  for (const std::vector<int32_t>& tail : tails) {
    const size_t seam = rendered.text.find(kSeam, from);
    if (seam == std::string::npos)
      fail("the chat template changes the question's text: aggregation needs it unchanged");
    add(rendered.part(from, seam).encode(tokenizer)), add(tail);
    from = seam + kSeam.size();
  }
  if (rendered.text.find(kSeam, from) != std::string::npos)
    fail("the question contains U+E000, which is reserved for aggregation");
  add(rendered.part(from, rendered.text.size()).encode(tokenizer));
  return prompt;
}

}  // namespace quern::text
