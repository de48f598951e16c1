// Chat templates: the subset of Jinja that Hugging Face models use, with transformers' settings (trim_blocks,
// lstrip_blocks, break and continue, raise_exception, strftime_now, tojson that keeps non-ASCII). A template is
// untrusted code: its steps, depth and output are bounded, and it can access only its context.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "quern/base/json.h"

namespace quern::text {

class ChatTemplate {
 public:
  static ChatTemplate parse(const std::string& source);  // throws Error naming the line
  // chat_template.jinja, or chat_template in tokenizer_config.json (a string, or a list with one named "default").
  static ChatTemplate load(const std::filesystem::path& folder);
  static bool present(const std::filesystem::path& folder);

  // context: messages, add_generation_prompt, bos_token, tools, enable_thinking … as the template wants them.
  std::string render(const Json& context) const;
  const std::string& source() const { return source_; }

 private:
  struct Program;
  std::string source_;
  std::shared_ptr<const Program> program_;
};

// The folder's template, or the family's own (ZAYA: ChatML with a thinking section), or plain ChatML.
ChatTemplate chat_template_for(const std::filesystem::path& folder, const std::string& family);
ChatTemplate family_chat_template(const std::string& family);
const char* zaya_chat_template();
const char* plain_chat_template();

}  // namespace quern::text
