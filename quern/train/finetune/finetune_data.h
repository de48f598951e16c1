// Fine-tuning rows as token shards with a loss mask, divided into what is learned and what is held out. Of a chat the
// assistant's turns are learned, of a text all of it or what follows its prompt. Rows longer than the sequence length:
// chats lose reasoning (data::ap_trim) or are dropped, texts are cut into pieces.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"
#include "quern/train/finetune/finetune_rows.h"
#include "quern/train/finetune/preference_rows.h"

namespace quern::train {

template <class Row>
struct RowSplit {
  std::vector<Row> learned, held_out;
  int64_t repeated = 0;  // rows that repeat one held out, left out of what is learned
};
using FinetuneSplit = RowSplit<FinetuneRow>;

enum class RowUse { learned, held_out, repeated };
struct HeldOutShare {
  double share;  // of the rows, one at least and `most` at most, drawn by the seed
  int64_t most;
  uint64_t seed;
};
std::vector<RowUse> row_uses(const std::vector<std::string>& keys, const HeldOutShare& how);

template <class Row>
RowSplit<Row> split_rows(std::vector<Row> rows, const HeldOutShare& how) {
  std::vector<std::string> keys;
  for (const Row& r : rows) keys.push_back(r.key());
  const std::vector<RowUse> uses = row_uses(keys, how);
  RowSplit<Row> out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (uses[i] == RowUse::repeated)
      ++out.repeated;
    else
      (uses[i] == RowUse::held_out ? out.held_out : out.learned).push_back(std::move(rows[i]));
  }
  return out;
}

struct FinetuneCounts {
  int64_t rows = 0, tokens = 0, learned = 0, bytes = 0;
  int64_t trimmed = 0, dropped = 0, cut = 0;
  int64_t longest = 0;  // of the documents as they are now
};

struct FinetuneEncoder {
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat_template;
  int64_t length;  // tokens a document may have beside its last
};

// Writes PREFIX.bin, .idx, .mask.bin, .mask.idx and .json. Throws Error naming a row that the template cannot render.
FinetuneCounts write_shards(const std::vector<FinetuneRow>& rows, const FinetuneEncoder& encoder,
                            const std::filesystem::path& prefix);

// The same of pairs of answers, two documents each, of which the answers alone are learned; "pairs" in the .json says so. A
// pair that is longer than the sequence length is dropped.
FinetuneCounts write_pair_shards(const std::vector<PreferenceRow>& rows, const FinetuneEncoder& encoder,
                                 const std::filesystem::path& prefix);

}  // namespace quern::train
