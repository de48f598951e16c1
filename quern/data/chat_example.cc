#include "quern/data/chat_example.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::data {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

bool blank(std::string_view s) { return s.find_first_not_of(" \t\r\n") == s.npos; }

class Builder {
 public:
  explicit Builder(const text::Tokenizer& t) : tokenizer_(t) {}

  void context(std::string_view text) { add(text, false); }

  // A turn, of which `before` (the generation prompt) may have opened the reasoning already.
  void turn(std::string_view before, std::string_view text) {
    const size_t opened = before.rfind(kOpen);
    bool inside = opened != before.npos && blank(before.substr(opened + kOpen.size()));
    if (!inside) {
      const size_t open = text.find(kOpen);
      if (open != text.npos && text.find(kClose, open) != text.npos) {
        add(text.substr(0, open + kOpen.size()), true);
        text.remove_prefix(open + kOpen.size());
        inside = true;
      }
    }
    ChatExample::Span reasoning{x_.size(), x_.size()};
    if (const size_t close = text.find(kClose); inside && close != text.npos) {
      add(text.substr(0, close), true);
      reasoning.end = x_.size();
      text.remove_prefix(close);
    }
    x_.reasonings.push_back(reasoning);
    const int64_t answer = x_.size();
    add(text, true);
    unlearn_tail(answer);
  }

  ChatExample finish() { return std::move(x_); }

 private:
  void add(std::string_view text, bool learned) {
    // The template writes the special tokens itself.
    std::vector<int32_t> ids = tokenizer_.encode(text, {.add_special_tokens = false});
    x_.tokens.insert(x_.tokens.end(), ids.begin(), ids.end());
    x_.learned.insert(x_.learned.end(), ids.size(), learned);
  }

  // White space behind the last special token is the template's, not the assistant's.
  void unlearn_tail(int64_t from) {
    int64_t last = x_.size() - 1;
    while (last >= from && !tokenizer_.is_special(x_.tokens[static_cast<size_t>(last)])) --last;
    if (last < from) return;
    const std::string tail = tokenizer_.decode(std::span(x_.tokens).subspan(static_cast<size_t>(last) + 1));
    if (!blank(tail)) return;
    std::fill(x_.learned.begin() + last + 1, x_.learned.end(), uint8_t{0});
  }

  const text::Tokenizer& tokenizer_;
  ChatExample x_;
};

void erase(ChatExample& x, int64_t begin, int64_t end) {
  x.tokens.erase(x.tokens.begin() + begin, x.tokens.begin() + end);
  x.learned.erase(x.learned.begin() + begin, x.learned.begin() + end);
  for (ChatExample::Span& s : x.reasonings) {
    auto moved = [&](int64_t at) { return at <= begin ? at : std::max(begin, at - (end - begin)); };
    s = {moved(s.begin), moved(s.end)};
  }
}

bool cut_last_reasoning(ChatExample& x, int64_t need) {
  const ChatExample::Span last = x.reasonings.back();
  if (last.size() < need) return false;
  erase(x, last.end - need, last.end);
  return true;
}

}  // namespace

ChatExample encode_chat(const Json& messages, const text::ChatTemplate& chat_template,
                        const text::Tokenizer& tokenizer, const std::string& where) {
  const Json::Array& list = messages.as_array(where + ", messages");
  if (list.empty()) fail("{}: no messages", where);
  for (const Json& m : list) {
    m.at("role", where + ", message").as_string(where + ", role");
    m.at("content", where + ", message").as_string(where + ", content");
  }
  if (list.back().at("role").as_string() != "assistant")
    fail("{}: the last turn is of role '{}', expected assistant: nothing to train on", where,
         list.back().at("role").as_string());

  auto token = [&](int32_t id) { return id >= 0 ? tokenizer.id_to_token(id) : std::string(); };
  auto render = [&](size_t n, bool prompt) {
    Json c = Json::object();
    c.set("messages", Json(Json::Array(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n))));
    c.set("add_generation_prompt", prompt);
    c.set("bos_token", token(tokenizer.bos_id()));
    c.set("eos_token", token(tokenizer.eos_id()));
    return chat_template.render(c);
  };
  const std::string whole = render(list.size(), false);
  Builder b(tokenizer);
  size_t done = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].at("role").as_string() != "assistant") continue;
    // A generation prompt may open the reasoning though this turn has none: what it has in common with the whole
    // counts.
    const std::string asked = render(i, true), told = render(i + 1, false);
    const size_t begin = static_cast<size_t>(
        std::mismatch(asked.begin(), asked.end(), whole.begin(), whole.end()).first - asked.begin());
    if (begin < render(i, false).size() || begin < done || !whole.starts_with(told) || told.size() < begin)
      fail(
          "{}: the template writes turn {} differently when another turn follows, so that the conversation has no "
          "single "
          "training form",
          where, i);
    b.context(std::string_view(whole).substr(done, begin - done));
    b.turn(std::string_view(whole).substr(0, begin), std::string_view(whole).substr(begin, told.size() - begin));
    done = told.size();
  }
  return b.finish();
}

std::optional<ChatExample> ap_trim(const ChatExample& x, int64_t budget) {
  if (x.size() <= budget) return x;
  ChatExample y = x;
  if (cut_last_reasoning(y, y.size() - budget)) return y;
  for (size_t j = 0; j + 1 < y.reasonings.size(); ++j) erase(y, y.reasonings[j].begin, y.reasonings[j].end);
  if (y.size() <= budget || cut_last_reasoning(y, y.size() - budget)) return y;
  return std::nullopt;
}

}  // namespace quern::data
