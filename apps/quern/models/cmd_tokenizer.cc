// quern tokenizer train: a byte-level BPE tokenizer from text files, as a folder Hugging Face can read.
#include <fstream>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/new_tokenizer.h"
#include "quern/text/unicode/utf8.h"

namespace quern::cli {

int cmd_tokenizer(Words args) {
  std::string what, out;
  std::vector<std::string> files;
  VocabFlag vocab{.size = 32000};
  int64_t min_frequency = 2;
  bool digits = false;
  Args a("tokenizer", "train a byte-level BPE tokenizer");
  a.positional("train", what)
      .rest("FILE", files)
      .flag("--out DIR", out, "output folder for tokenizer.json and its companion files")
      .settings(vocab)
      .flag("--min-frequency N", min_frequency, "minimum number of occurrences of a pair that is merged")
      .flag("--individual-digits", digits, "make every digit a separate token");
  if (!a.parse(args)) return 0;
  if (what != "train") throw UsageError(fmt::format("quern tokenizer: unknown verb '{}', expected train", what));
  if (out.empty()) throw UsageError("quern tokenizer train: --out is missing");
  if (files.empty()) throw UsageError("quern tokenizer train: name at least one text file");
  if (std::filesystem::exists(std::filesystem::path(out) / "tokenizer.json"))
    fail("{} already holds a tokenizer; name another folder", out);

  text::BpeTrainOptions o = tokenizer_options(vocab.size);
  o.individual_digits = digits;
  o.min_frequency = min_frequency;
  text::BpeTrainer trainer(o);
  size_t replaced = 0, bytes = 0;
  for (const std::string& file : files) {
    std::ifstream f(file, std::ios::binary);
    if (!f) fail("cannot open {}", file);
    for (std::string line; std::getline(f, line);) {
      if (!f.eof()) line += '\n';
      bytes += line.size();
      size_t bad = 0;
      trainer.add(text::utf8_lossy(line, &bad));
      replaced += bad;
    }
  }
  if (replaced > 0) fmt::print(stderr, "warning: replaced {} invalid UTF-8 sequences by U+FFFD\n", replaced);
  save_tokenizer_files(out, trainer.train());
  fmt::print("{}: {} entries from {} bytes of text\n", out, text::Tokenizer::load(out).vocab_size(), bytes);
  return 0;
}

}  // namespace quern::cli
