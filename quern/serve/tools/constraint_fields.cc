// Reads the constraint fields.
#include "quern/serve/tools/constraint_fields.h"

#include "quern/serve/wire/api_error.h"
#include "quern/text/grammar/parse.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxKept = 16;
constexpr const char* kAnyObject = R"({"type":"object"})";

std::string regex_literal(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void ConstraintCache::read_response_format(const Fields& f, std::vector<Asked>& asked) {
  const Json* format = f.find("response_format");
  if (!format) return;
  if (!format->is_object()) bad_field("response_format", "expected an object");
  const std::string type = Fields(*format).text("type").value_or("");
  if (type == "text") return;
  const Json* schema = format->find("schema");
  if (type == "json_object") {
    asked.push_back({"response_format", infer::GrammarNotation::json_schema, schema ? schema->dump() : kAnyObject});
  } else if (type == "json_schema") {
    const Json* named = format->find("json_schema");
    if (named) schema = named->find("schema");
    if (!schema) bad_field("response_format", "json_schema.schema is missing");
    asked.push_back({"response_format", infer::GrammarNotation::json_schema, schema->dump()});
  } else {
    bad_field("response_format", "type '{}': expected text, json_object or json_schema", type);
  }
}

void ConstraintCache::read_structured_outputs(const Fields& f, std::vector<Asked>& asked) {
  const Json* s = f.find("structured_outputs");
  if (!s) return;
  const std::string field = "structured_outputs";
  if (!s->is_object()) bad_field(field, "expected an object");
  for (const auto& [key, value] : s->as_object()) {
    if (value.is_null()) continue;
    if (key == "json") {
      asked.push_back(
          {field, infer::GrammarNotation::json_schema, value.is_string() ? value.as_string() : value.dump()});
    } else if (key == "json_object" && value.is_bool()) {
      if (value.as_bool()) asked.push_back({field, infer::GrammarNotation::json_schema, kAnyObject});
    } else if ((key == "regex" || key == "grammar") && value.is_string()) {
      asked.push_back(
          {field, key == "regex" ? infer::GrammarNotation::regex : infer::GrammarNotation::gbnf, value.as_string()});
    } else if (key == "choice") {
      std::string either;
      for (const std::string& c : Fields(*s).texts("choice"))
        either += (either.empty() ? "" : "|") + regex_literal(c);
      if (either.empty()) bad_field(field, "choice: expected a list of texts");
      asked.push_back({field, infer::GrammarNotation::regex, either});
    } else {
      bad_field(field, "{}: expected json, json_object, regex, choice or grammar, each of its type", key);
    }
  }
}

std::vector<ConstraintCache::Asked> ConstraintCache::read_asked(const Fields& f) {
  std::vector<Asked> asked;
  read_response_format(f, asked);
  read_structured_outputs(f, asked);
  if (auto t = f.text("grammar")) asked.push_back({"grammar", infer::GrammarNotation::gbnf, *t});
  if (auto t = f.text("regex")) asked.push_back({"regex", infer::GrammarNotation::regex, *t});
  if (asked.size() > 1)
    bad_field(asked[1].field, "the answer is constrained twice, by {} and by {}", asked[0].field, asked[1].field);
  return asked;
}

std::shared_ptr<const infer::ConstraintSource> ConstraintCache::read(const Fields& f,
                                                                     const text::Tokenizer& tokenizer,
                                                                     infer::ThinkStart start) {
  const std::vector<Asked> asked = read_asked(f);
  if (asked.empty()) return nullptr;
  return source(asked[0], tokenizer).with(start, tokenizer.token_to_id("<think>"));
}

infer::GrammarSource ConstraintCache::kept(const std::string& key,
                                           const std::function<infer::GrammarSource()>& make) {
  std::lock_guard lock(mutex_);
  for (auto it = recent_.begin(); it != recent_.end(); ++it)
    if (it->first == key) {
      recent_.splice(recent_.begin(), recent_, it);
      return it->second;
    }
  recent_.emplace_front(key, make());
  if (recent_.size() > kMaxKept) recent_.pop_back();
  return recent_.front().second;
}

infer::GrammarSource ConstraintCache::source(const Asked& a, const text::Tokenizer& tokenizer) {
  return kept(fmt::format("{} {}", static_cast<int>(a.notation), a.text), [&] {
    try {
      auto grammar = infer::parse_grammar(a.notation, a.text);
      if (!tokens_) tokens_ = std::make_shared<text::TokenTrie>(tokenizer);
      return infer::GrammarSource(std::move(grammar), tokens_);
    } catch (const Error& e) {
      bad_field(a.field, "{}", e.what());
    }
  });
}

infer::GrammarSource ConstraintCache::tool_source(const ToolFormat& format, const ToolUse& use,
                                                  const text::Tokenizer& tokenizer, const std::string& schema) {
  const std::string key = fmt::format("tools {} {} {} {} {}", format.name(), use.parallel,
                                      fmt::join(use.allowed, ","), use.json().dump(), schema);
  return kept(key, [&] {
    try {
      text::GrammarBuilder b;
      text::GrammarItem root = calls_item(b, format, use);
      if (!schema.empty()) root = b.choice({{root}, {text::schema_item(b, Json::parse(schema))}});
      auto grammar = std::make_shared<const text::Grammar>(b.finish(root));
      if (!tool_tokens_) tool_tokens_ = std::make_shared<text::TokenTrie>(tokenizer, format.marks());
      return infer::GrammarSource(std::move(grammar), tool_tokens_);
    } catch (const Error& e) {
      bad_field("tools", "{}", e.what());
    }
  });
}

std::shared_ptr<const infer::ConstraintSource> ConstraintCache::calls(const ToolFormat& format, const ToolUse& use,
                                                                      const text::Tokenizer& tokenizer,
                                                                      infer::ThinkStart start) {
  return tool_source(format, use, tokenizer).with(start, tokenizer.token_to_id("<think>"));
}

std::shared_ptr<const infer::ConstraintSource> ConstraintCache::answer_or_calls(const Fields& f,
                                                                                const ToolFormat& format,
                                                                                const ToolUse& use,
                                                                                const text::Tokenizer& tokenizer,
                                                                                infer::ThinkStart start) {
  const std::vector<Asked> asked = read_asked(f);
  if (asked.empty()) return nullptr;
  if (asked[0].field != "response_format")
    bad_field("tools", "cannot be combined with {}, unless tool_choice is none: use response_format", asked[0].field);
  if (use.forced()) return nullptr;  // this answer calls
  return tool_source(format, use, tokenizer, asked[0].text).with(start, tokenizer.token_to_id("<think>"));
}

std::shared_ptr<const infer::ConstraintSource> ConstraintCache::strict_calls(const ToolFormat& format,
                                                                             const ToolUse& use,
                                                                             const text::Tokenizer& tokenizer,
                                                                             infer::ThinkStart start) {
  const std::string opening = format.opening();
  if (opening.empty()) return nullptr;
  ToolUse one = use;
  one.parallel = false;
  return tool_source(format, one, tokenizer)
      .triggered(
          {.text = opening, .start = start, .think_token = tokenizer.token_to_id("<think>"), .once = !use.parallel});
}

}  // namespace quern::serve
