// What every template may ask for (the messages, the generation prompt, the tokenizer's special tokens), and the
// escaping of special tokens in messages.
#include "quern/text/chat/chat_prompt.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::text {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

// Tags that the template spells and that are tokens, special or not, and the two of thinking.
std::vector<std::string> tags_of(const std::string& source, const Tokenizer& tokenizer) {
  constexpr size_t kLongest = 64;
  std::vector<std::string> tags = {std::string(kOpen), std::string(kClose)};
  for (size_t at = 0; (at = source.find('<', at)) != source.npos; ++at) {
    const size_t end = source.find('>', at);
    if (end == source.npos) break;
    std::string tag = source.substr(at, std::min(end + 1 - at, kLongest));
    if (tokenizer.token_to_id(tag) >= 0 && std::find(tags.begin(), tags.end(), tag) == tags.end())
      tags.push_back(std::move(tag));
  }
  return tags;
}

// A noncharacter that nothing here holds.
std::string unused_sign(const std::string& everything) {
  for (unsigned char last = 0x90; last <= 0xAF; ++last) {  // U+FDD0 … U+FDEF
    std::string sign = "\xEF\xB7";
    sign += static_cast<char>(last);
    if (everything.find(sign) == everything.npos) return sign;
  }
  fail("the messages hold every one of the noncharacters U+FDD0 to U+FDEF: leave one out");
}

class Marks {
 public:
  Marks(const ChatTemplate& t, const Tokenizer& tokenizer, const std::string& everything)
      : tokenizer_(tokenizer), tags_(tags_of(t.source(), tokenizer)), sign_(unused_sign(everything + t.source())) {}

  Json messages(const Json& list) const {
    if (!list.is_array()) return data(list, false);
    Json out = Json::array();
    for (const Json& m : list.as_array()) {
      const Json* role = m.find("role");
      out.push(data(m, role && *role == Json("assistant")));
    }
    return out;
  }

  Json data(const Json& j, bool may_think) const {
    if (j.is_string()) return marked(j.as_string(), may_think);
    Json out = j;
    if (j.is_array())
      for (Json& item : out.items()) item = data(item, may_think);
    if (j.is_object())
      for (auto& [name, value] : out.members()) name = marked(name, false), value = data(value, may_think);
    return out;
  }

  PromptText taken_out(const std::string& rendered) const {
    PromptText p;
    size_t from = 0;
    for (size_t at; (at = rendered.find(sign_, from)) != rendered.npos; from = at + sign_.size()) {
      p.text.append(rendered, from, at - from);
      if (p.plain.empty() || p.plain.back() != p.text.size()) p.plain.push_back(p.text.size());
    }
    p.text.append(rendered, from);
    return p;
  }

 private:
  std::string marked(const std::string& s, bool may_think) const {
    std::vector<size_t> at = tokenizer_.specials_in(s);
    for (const std::string& tag : tags_)
      for (size_t k = 0; (k = s.find(tag, k)) != s.npos; ++k) at.push_back(k);
    if (at.empty()) return s;
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    std::string out;
    size_t from = 0;
    for (size_t k : at) {
      const std::string_view rest = std::string_view(s).substr(k);
      if (may_think && (rest.starts_with(kOpen) || rest.starts_with(kClose))) continue;
      size_t first = k + 1;  // behind the spelling's first character
      while (first < s.size() && (static_cast<unsigned char>(s[first]) & 0xC0) == 0x80) ++first;
      out.append(s, from, first - from) += sign_;
      from = first;
    }
    return out.append(s, from);
  }

  const Tokenizer& tokenizer_;
  std::vector<std::string> tags_;
  std::string sign_;
};

}  // namespace

PromptText PromptText::part(size_t begin, size_t end) const {
  PromptText p{.text = text.substr(begin, end - begin)};
  for (size_t at : plain)
    if (at > begin && at < end) p.plain.push_back(at - begin);
  return p;
}

void PromptText::append(const PromptText& more) {
  for (const size_t at : more.plain) plain.push_back(text.size() + at);
  text += more.text;
}

bool PromptText::opens_thinking() const {
  auto last = [&](std::string_view tag) {
    size_t at = text.rfind(tag);
    while (at != text.npos) {
      auto inside = std::upper_bound(plain.begin(), plain.end(), at);
      if (inside == plain.end() || *inside >= at + tag.size()) return at + 1;
      at = at == 0 ? text.npos : text.rfind(tag, at - 1);
    }
    return size_t{0};
  };
  return last(kOpen) > last(kClose);
}

std::vector<int32_t> PromptText::encode(const Tokenizer& tokenizer) const {
  return tokenizer.encode(text, {.add_special_tokens = false, .plain = plain});
}

PromptText chat_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                       const Json& more) {
  const Marks marks(chat_template, tokenizer, messages.dump() + more.dump());
  Json c = Json::object();
  c.set("messages", marks.messages(messages));
  c.set("add_generation_prompt", true);
  auto token = [&](const char* name, int32_t id) {
    c.set(name, id >= 0 ? tokenizer.id_to_token(id) : std::string());
  };
  token("bos_token", tokenizer.bos_id());
  token("eos_token", tokenizer.eos_id());
  if (more.is_object())
    for (const auto& [name, value] : more.as_object()) c.set(name, marks.data(value, false));
  return marks.taken_out(chat_template.render(c));
}

PromptText turn_start(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const std::string& said) {
  const Marks marks(chat_template, tokenizer, said);
  return marks.taken_out(marks.data(Json(said), true).as_string());
}

std::string chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                      const Json& more) {
  return chat_prompt(chat_template, tokenizer, messages, more).text;
}

}  // namespace quern::text
