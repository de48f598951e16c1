// quern data pairs: pairs of answers, a chosen and a rejected one, as token shards for a recipe's preference phase.
#include "apps/quern/cli/args.h"
#include "apps/quern/train/cmd_data.h"
#include "apps/quern/train/shard_flags.h"
#include "quern/models/checkpoint.h"
#include "quern/train/finetune/finetune_data.h"
#include "quern/train/finetune/finetune_settings.h"

namespace quern::cli {

int data_pairs(Words args) {
  std::vector<std::string> files;
  std::string tokenizer_dir;
  ShardFlags shards;
  const std::string& out = shards.out;
  train::FinetuneSettings rows_are;
  int64_t max_tokens = 1024, bad = 0;
  bool json = false;
  Args a("data pairs", "tokenize pairs of answers for learning from preferences");
  a.rest("IN", files)
      .flag("--tokenizer DIR", tokenizer_dir, "folder with tokenizer.json and the chat template")
      .settings(shards, {{"out"}})
      .flag("--max-tokens N", max_tokens, "leave out pairs with an answer longer than N tokens, its prompt included")
      .settings(rows_are, {{"plain"}, {"skip_bad"}})
      .json(json)
      .note("IN holds JSON lines or a JSON array with prompt, chosen and rejected, in any form of TRL.");
  if (!a.parse(args)) return 0;
  if (files.empty()) throw UsageError("quern data pairs: IN is missing: name at least one input file");
  if (tokenizer_dir.empty())
    throw UsageError("quern data pairs: --tokenizer is missing: expected a folder with tokenizer.json");
  if (out.empty()) throw UsageError("quern data pairs: --out is missing: expected a PREFIX");
  if (max_tokens < 2) throw UsageError("quern data pairs: expected --max-tokens of at least 2");
  const auto rows = train::read_preference_rows(
      files, rows_are.plain ? train::PromptForm::plain : train::PromptForm::chat, [&](const std::string& why) {
        if (!rows_are.skip_bad) throw Error(why);
        ++bad;
      });
  if (rows.empty()) fail("{}: no rows", fmt::join(files, ", "));
  const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_dir);
  const text::ChatTemplate chat_template = text::chat_template_for(tokenizer_dir, "");
  const train::FinetuneCounts n = write_pair_shards(rows, {tokenizer, chat_template, max_tokens - 1}, out);
  if (json) {
    Json j = Json::object();
    j.set("pairs", n.rows), j.set("dropped", n.dropped), j.set("bad", bad), j.set("tokens", n.tokens);
    j.set("learned", n.learned), j.set("longest", n.longest);
    fmt::print("{}\n", j.dump());
    return 0;
  }
  fmt::print("{}: {} pairs, {} tokens, of which {} are learned; the longest answer with its prompt has {}\n", out,
             n.rows, n.tokens, n.learned, n.longest);
  if (bad + n.dropped > 0) fmt::print(stderr, "left out: {} bad rows, {} that are too long\n", bad, n.dropped);
  return 0;
}

}  // namespace quern::cli
