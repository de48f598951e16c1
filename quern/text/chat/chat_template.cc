#include "quern/text/chat/chat_template.h"

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/text/jinja/ast.h"
#include "quern/text/jinja/interpreter.h"

namespace quern::text {
namespace {

std::string source_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  if (fs::exists(folder / "chat_template.jinja")) return read_file(folder / "chat_template.jinja");
  fs::path config = folder / "tokenizer_config.json";
  if (!fs::exists(config)) return "";
  Json j = Json::read(config);
  const Json* t = j.find("chat_template");
  if (!t || t->is_null()) return "";
  std::string where = config.string() + ", chat_template";
  if (!t->is_array()) return t->as_string(where);
  for (const Json& named : t->as_array())
    if (named.at("name", where).as_string(where) == "default") return named.at("template", where).as_string(where);
  fail("{}: none of the templates is named 'default'", where);
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Block block;
};

ChatTemplate ChatTemplate::parse(const std::string& source) {
  ChatTemplate t;
  t.source_ = source;
  auto p = std::make_shared<Program>();
  p->block = jinja::parse(source);
  t.program_ = p;
  return t;
}

bool ChatTemplate::present(const std::filesystem::path& folder) { return !source_in(folder).empty(); }

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder) {
  std::string s = source_in(folder);
  if (s.empty())
    fail("{}: found neither chat_template.jinja nor chat_template in tokenizer_config.json", folder.string());
  return parse(s);
}

std::string ChatTemplate::render(const Json& context) const { return jinja::render(program_->block, context); }

// ChatML, a system block always, <think> opened for the answer (or shut at once with enable_thinking=false), earlier
// answers without a thinking section given an empty one.
const char* zaya_chat_template() {
  return R"({{- bos_token }}
{%- set ns = namespace(system='', rest=messages) %}
{%- if messages and messages[0].role == 'system' %}
{%- set ns.system = messages[0].content %}
{%- set ns.rest = messages[1:] %}
{%- endif %}
{{- '<|im_start|>system\n' ~ ns.system ~ '<|im_end|>\n' }}
{%- for m in ns.rest %}
{%- if m.role == 'assistant' and '<think>' not in m.content %}
{{- '<|im_start|>assistant\n<think>\n</think>\n\n' ~ m.content ~ '<|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n<think>\n' }}
{%- if enable_thinking is defined and not enable_thinking %}
{{- '</think>\n\n' }}
{%- endif %}
{%- endif %}
)";
}

const char* plain_chat_template() {
  return R"({%- for m in messages %}
{{- '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
)";
}

ChatTemplate chat_template_for(const std::filesystem::path& folder, const std::string& family) {
  return ChatTemplate::present(folder) ? ChatTemplate::load(folder) : family_chat_template(family);
}

ChatTemplate family_chat_template(const std::string& family) {
  return ChatTemplate::parse(family == "zaya" ? zaya_chat_template() : plain_chat_template());
}

}  // namespace quern::text
