// Rows of fine-tuning data in the forms that other tools use. Every row becomes a chat, or a text of which all or an end
// is learned:
//   {"messages": [{"role", "content"}, …]}                     Hugging Face, OpenAI
//   {"conversations": [{"from": "human"|"gpt", "value"}, …]}   ShareGPT
//   {"instruction", "input", "output"}                         Alpaca
//   {"prompt", "completion"}                                   TRL; also "response", and question and answer
//   {"text"}                                                   plain text
// Files are JSON lines, or one JSON array. Roles of ShareGPT become user and assistant; turns after the assistant's last
// answer teach nothing and are cut.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::train {

struct FinetuneRow {
  std::string where;         // file and line
  Json messages;             // of a chat; null: text
  std::string prompt, text;  // of a text: read, learned
  bool chat() const { return !messages.is_null(); }
  std::string key() const;  // equal rows have equal ones
};

enum class PromptForm { chat, plain };  // what {"prompt", "completion"} and its like become

// The row of a JSON object. Throws Error naming `where` and what is wrong.
FinetuneRow finetune_row(const Json& j, PromptForm prompts, const std::string& where);

// Calls take(row, where) for every row of the files, in order. What take throws, and lines that are no JSON, go to `bad`.
void read_json_rows(const std::vector<std::string>& files,
                    const std::function<void(const Json&, const std::string& where)>& take,
                    const std::function<void(const std::string&)>& bad);

// All rows of the files, in order. A row that cannot be used goes to `bad` with its reason. Throws Error for a file that
// cannot be read, or is in no form that is known.
std::vector<FinetuneRow> read_finetune_rows(const std::vector<std::string>& files, PromptForm prompts,
                                            const std::function<void(const std::string&)>& bad);

}  // namespace quern::train
