#include "quern/train/finetune/preference_rows.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::train {
namespace {

const Json* given(const Json& j, const char* key) {
  const Json* v = j.find(key);
  return v && !v->is_null() ? v : nullptr;
}

// Where two texts part, not inside a character nor behind white space, which belongs to the answer.
size_t shared_length(const std::string& a, const std::string& b) {
  auto n = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  while (n > 0 && n < a.size() && (static_cast<unsigned char>(a[n]) & 0xC0) == 0x80) --n;
  while (n > 0 && (a[n - 1] == ' ' || a[n - 1] == '\n')) --n;
  return n;
}

int64_t answers_in(const Json& messages, size_t end) {
  const auto& list = messages.as_array();
  return std::count_if(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Json& m) { return m.at("role") == Json("assistant"); });
}

Json completion_of(const Json& j, const Json& prompt, const Json& answer) {
  Json row = Json::object();
  row.set("prompt", prompt), row.set("completion", answer);
  if (const Json* system = given(j, "system")) row.set("system", *system);
  return row;
}

// Both begin with the prompt.
PreferenceRow with_implied_prompt(const Json& chosen, const Json& rejected, const std::string& where) {
  PreferenceRow row;
  Json a = Json::object(), b = Json::object();
  if (chosen.is_string()) {
    const std::string &x = chosen.as_string(), &y = rejected.as_string();
    const size_t n = shared_length(x, y);
    const auto part = [n](const std::string& s) {
      Json j = Json::object();
      j.set("prompt", s.substr(0, n)), j.set("completion", s.substr(n));
      return j;
    };
    row.chosen = finetune_row(part(x), PromptForm::plain, where + ", chosen");
    row.rejected = finetune_row(part(y), PromptForm::plain, where + ", rejected");
    return row;
  }
  a.set("messages", chosen), b.set("messages", rejected);
  row.chosen = finetune_row(a, PromptForm::chat, where + ", chosen");
  row.rejected = finetune_row(b, PromptForm::chat, where + ", rejected");
  const auto &x = row.chosen.messages.as_array(), &y = row.rejected.messages.as_array();
  const auto shared = static_cast<size_t>(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin());
  row.answers_before = answers_in(row.chosen.messages, shared);
  return row;
}

}  // namespace

PreferenceRow preference_row(const Json& j, PromptForm form, const std::string& where) {
  if (!j.is_object()) fail("{}: expected a JSON object", where);
  const Json *chosen = given(j, "chosen"), *rejected = given(j, "rejected");
  if (!chosen || !rejected) fail("{}: expected a chosen and a rejected answer", where);
  const auto known = [](const Json& v) { return v.is_string() || v.is_array(); };
  if (!known(*chosen) || !known(*rejected)) fail("{}: an answer is neither text nor a list of messages", where);
  const Json* prompt = given(j, "prompt");
  if (!prompt) prompt = given(j, "question");
  PreferenceRow row;
  if (!prompt || (prompt->is_string() && chosen->is_array())) {
    // Data sets that repeat the question as a text beside whole chats.
    if (chosen->is_string() != rejected->is_string()) fail("{}: one answer is a text, the other a chat", where);
    row = with_implied_prompt(*chosen, *rejected, where);
  } else if (prompt->is_string() || prompt->is_array()) {
    row.chosen = finetune_row(completion_of(j, *prompt, *chosen), form, where + ", chosen");
    row.rejected = finetune_row(completion_of(j, *prompt, *rejected), form, where + ", rejected");
    if (prompt->is_array())
      for (const Json& m : prompt->as_array())
        for (const char* role : {"role", "from"})
          if (const Json* r = m.find(role)) row.answers_before += *r == Json("assistant") || *r == Json("gpt");
  } else {
    fail("{}: prompt is neither text nor a list of messages", where);
  }
  if (row.chosen.key() == row.rejected.key()) fail("{}: the two answers are the same", where);
  return row;
}

std::vector<PreferenceRow> read_preference_rows(const std::vector<std::string>& files, PromptForm form,
                                                const std::function<void(const std::string&)>& bad) {
  std::vector<PreferenceRow> rows;
  read_json_rows(
      files, [&](const Json& j, const std::string& where) { rows.push_back(preference_row(j, form, where)); }, bad);
  return rows;
}

}  // namespace quern::train
