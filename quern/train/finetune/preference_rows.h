// Rows with a chosen and a rejected answer, in the forms of TRL and the data sets made for it:
//   {"prompt": "…", "chosen": "…", "rejected": "…"}                       texts; prompt may be called question
//   {"prompt": [message, …], "chosen": [message, …], "rejected": […]}     lists of messages; answers may be texts
//   {"chosen": [message, …], "rejected": [message, …]}                    the prompt is how both begin
//   {"chosen": "…", "rejected": "…"}                                      likewise, as plain texts
// Each becomes two rows of fine-tuning (finetune_rows.h), whose last answers alone count.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/train/finetune/finetune_rows.h"

namespace quern::train {

struct PreferenceRow {
  FinetuneRow chosen, rejected;
  int64_t answers_before = 0;  // turns of the assistant in the prompt of a chat
  std::string key() const { return chosen.key() + "\n\x1e\n" + rejected.key(); }
};

// Throws Error naming `where` and what is wrong.
PreferenceRow preference_row(const Json& j, PromptForm prompts, const std::string& where);
std::vector<PreferenceRow> read_preference_rows(const std::vector<std::string>& files, PromptForm prompts,
                                                const std::function<void(const std::string&)>& bad);

}  // namespace quern::train
