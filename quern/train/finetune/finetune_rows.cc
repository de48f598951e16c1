#include "quern/train/finetune/finetune_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/text/unicode/utf8.h"

namespace quern::train {
namespace {

bool blank(const std::string& s) { return s.find_first_not_of(" \t\r\n") == s.npos; }

Json message(const std::string& role, const std::string& content) {
  Json m = Json::object();
  m.set("role", role), m.set("content", content);
  return m;
}

const Json* first_of(const Json& j, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const Json* v = j.find(key); v && !v->is_null()) return v;
  return nullptr;
}

std::string role_of(const std::string& name, const std::string& where) {
  if (name == "human" || name == "user") return "user";
  if (name == "gpt" || name == "assistant" || name == "chatgpt" || name == "bot" || name == "model")
    return "assistant";
  if (name == "system" || name == "developer") return "system";
  if (name == "tool" || name == "function" || name == "observation" || name == "function_call")
    fail("{}: a turn of '{}': tool calls in training data are not supported", where, name);
  fail("{}: a turn of '{}': expected system, user (human) or assistant (gpt)", where, name);
}

// A string, or a list of text parts.
std::string content_of(const Json& c, const std::string& where) {
  if (c.is_string()) return c.as_string();
  if (!c.is_array()) fail("{}: content is neither text nor a list of parts", where);
  std::string all;
  for (const Json& part : c.as_array()) {
    const Json* type = part.is_object() ? part.find("type") : nullptr;
    if (!type || *type != Json("text"))
      fail("{}: content has a part that is not text; images and sound are not supported", where);
    all += part.at("text", where).as_string(where + ", text");
  }
  return all;
}

Json messages_of(const Json& list, const std::string& where) {
  Json out = Json::array();
  for (const Json& m : list.as_array(where)) {
    const std::string at = fmt::format("{}, turn {}", where, out.as_array().size() + 1);
    if (!m.is_object()) fail("{}: expected an object", at);
    if (const Json* calls = m.find("tool_calls"); calls && !calls->is_null())
      fail("{}: tool calls in training data are not supported", at);
    const Json *role = first_of(m, {"role", "from"}), *content = first_of(m, {"content", "value"});
    if (!role || !role->is_string()) fail("{}: has no role", at);
    if (!content) fail("{}: has no content", at);
    out.push(message(role_of(role->as_string(), at), content_of(*content, at)));
  }
  return out;
}

// Up to the assistant's last answer.
Json answered(const Json& messages, const std::string& where) {
  size_t end = messages.as_array().size();
  while (end > 0 && messages.as_array()[end - 1].at("role") != Json("assistant")) --end;
  if (end == 0) fail("{}: no turn of the assistant: there is nothing to learn", where);
  Json out = Json::array();
  for (size_t i = 0; i < end; ++i) {
    const Json& m = messages.as_array()[i];
    if (m.at("role") == Json("assistant") && blank(m.at("content").as_string()))
      fail("{}, turn {}: the assistant's answer is empty", where, i + 1);
    out.push(m);
  }
  return out;
}

FinetuneRow chat(const Json& messages, const std::string& where) {
  return {where, answered(messages, where), {}, {}};
}

FinetuneRow pair(const std::string& prompt, const std::string& answer, const Json& j, PromptForm form,
                 const std::string& where) {
  if (blank(answer)) fail("{}: the answer is empty", where);
  if (form == PromptForm::plain) return {where, Json(), prompt, answer};
  Json list = Json::array();
  if (const Json* system = j.find("system"); system && system->is_string() && !blank(system->as_string()))
    list.push(message("system", system->as_string()));
  list.push(message("user", prompt)), list.push(message("assistant", answer));
  return {where, list, {}, {}};
}

std::string text_at(const Json& v, const std::string& where, const char* what) {
  if (!v.is_string()) fail("{}: {} is not text", where, what);
  return v.as_string();
}

int64_t line_breaks(const std::string& s, size_t before) {
  return std::count(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(before), '\n');
}

std::string keys_of(const Json& j) {
  std::vector<std::string> keys;
  for (const auto& [k, v] : j.as_object()) keys.push_back(k);
  return keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "));
}

}  // namespace

std::string FinetuneRow::key() const { return chat() ? messages.dump() : prompt + "\n\x1f\n" + text; }

FinetuneRow finetune_row(const Json& j, PromptForm form, const std::string& where) {
  if (!j.is_object()) fail("{}: expected a JSON object", where);
  if (const Json* list = first_of(j, {"messages", "conversations", "conversation"})) {
    if (!list->is_array()) fail("{}: messages is no list", where);
    return chat(messages_of(*list, where), where);
  }
  if (first_of(j, {"chosen"}) && first_of(j, {"rejected"}))
    fail("{}: chosen and rejected answers: learning from preferences (dpo) has to be asked for", where);
  if (const Json* task = first_of(j, {"instruction"})) {
    const Json* answer = first_of(j, {"output", "response"});
    if (!answer) fail("{}: has an instruction and no output", where);
    std::string prompt = text_at(*task, where, "instruction");
    if (const Json* input = first_of(j, {"input", "context"}))
      if (const std::string more = text_at(*input, where, "input"); !blank(more)) prompt += "\n\n" + more;
    return pair(prompt, text_at(*answer, where, "output"), j, form, where);
  }
  const Json *prompt = first_of(j, {"prompt", "question", "query"}),
             *answer = first_of(j, {"completion", "response", "answer", "output"});
  if (prompt && answer) {
    if (prompt->is_string()) return pair(prompt->as_string(), text_at(*answer, where, "completion"), j, form, where);
    Json list = messages_of(*prompt, where + ", prompt");
    Json reply = Json::array();
    if (answer->is_string())
      reply.push(message("assistant", answer->as_string()));
    else
      reply = messages_of(*answer, where + ", completion");
    for (const Json& m : reply.as_array()) list.push(m);
    return chat(list, where);
  }
  if (const Json* text = first_of(j, {"text"})) {
    const std::string s = text_at(*text, where, "text");
    if (blank(s)) fail("{}: text is empty", where);
    return {where, Json(), {}, s};
  }
  fail("{}: expected messages, conversations, instruction and output, prompt and completion, or text; found {}",
       where, keys_of(j));
}

std::vector<FinetuneRow> read_finetune_rows(const std::vector<std::string>& files, PromptForm form,
                                            const std::function<void(const std::string&)>& bad) {
  std::vector<FinetuneRow> rows;
  read_json_rows(
      files, [&](const Json& j, const std::string& where) { rows.push_back(finetune_row(j, form, where)); }, bad);
  return rows;
}

void read_json_rows(const std::vector<std::string>& files,
                    const std::function<void(const Json&, const std::string& where)>& each,
                    const std::function<void(const std::string&)>& bad) {
  auto take = [&](const std::string& where, auto&& parsed) {
    try {
      each(parsed(), where);
    } catch (const Error& e) {
      bad(e.what());
    }
  };
  for (const std::string& file : files) {
    const std::string end = std::filesystem::path(file).extension().string();
    if (end == ".parquet" || end == ".csv" || end == ".arrow" || end == ".gz" || end == ".zst")
      fail("{}: expected JSON lines or a JSON array; convert {} files first", file, end);
    const std::string all = read_file(file);
    size_t begin = all.find_first_not_of(" \t\r\n");
    if (all.starts_with("\xef\xbb\xbf")) begin = all.find_first_not_of(" \t\r\n", 3);
    if (begin == all.npos) fail("{}: the file is empty", file);
    if (const size_t broken = text::utf8_error(all); broken != std::string::npos)
      fail("{}:{}: not UTF-8", file, 1 + line_breaks(all, broken));
    if (all[begin] == '[') {
      const Json list = Json::parse(all.substr(begin), file);
      int64_t n = 0;
      for (const Json& j : list.as_array(file)) take(fmt::format("{}, row {}", file, ++n), [&] { return j; });
      continue;
    }
    if (end == ".json" && all[begin] == '{' && all.find_first_of("}\n", begin) == all.find('\n', begin))
      fail("{}: one JSON object over several lines; expected an array of rows, or a row on each line", file);
    for (int64_t n = 1 + line_breaks(all, begin); begin < all.size(); ++n) {
      const size_t stop = std::min(all.find('\n', begin), all.size());
      const std::string line = all.substr(begin, stop - begin), where = fmt::format("{}:{}", file, n);
      begin = stop + 1;
      if (!blank(line)) take(where, [&] { return Json::parse(line, where); });
    }
  }
}

}  // namespace quern::train
