// quern recall train-encoder: trains the static encoder of search and memory (quern/encoders/words) on pairs of texts that
// belong together, as tools/corpora/pairs.py makes them.
#include <filesystem>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/recall/cmd_recall.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/encoders/words/word_encoder_training.h"

namespace quern::cli {
namespace {

int64_t add_pairs(const std::string& file, encoders::WordEncoderTrainer& trainer) {
  const MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  int64_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string where = fmt::format("{}:{}", file, ++line);
    const std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    if (one.find_first_not_of(" \t\r") == one.npos) continue;
    const Json j = Json::parse(one, where);
    const Json* group = j.find("package");
    trainer.add(j.at("a", where).as_string(where + ", a"), j.at("b", where).as_string(where + ", b"),
                group ? group->as_string(where + ", package") : "");
  }
  return line;
}

}  // namespace

int recall_train(Words args) {
  std::vector<std::string> files;
  std::string out;
  encoders::WordEncoderTraining t;
  auto seed = static_cast<int64_t>(t.seed);
  Args a("recall train-encoder", "train the word encoder of hybrid search on pairs of texts that belong together");
  a.rest("FILE", files)
      .flag("--out DIR", out, "folder to write: config.json and words.bin")
      .flag("--stems N", t.rows, "vocabulary size: the stems that most texts have")
      .flag("--dimensions N", t.width, "numbers per vector, a multiple of 16")
      .flag("--batch N", t.batch, "pairs per batch: each text has to find its partner among so many")
      .flag("--together N", t.together, "pairs of one package that lie in a batch; they are harder to distinguish")
      .flag("--epochs N", t.passes, "passes over the pairs")
      .flag("--learning-rate X", t.rate, "learning rate at the beginning; it falls to 0")
      .flag("--temperature X", t.temperature, "temperature of the softmax over a batch")
      .flag("--seed N", seed, "random seed of the first rows and of the order of the pairs")
      .note(
          "FILE has JSON lines with two texts, a and b: a heading and its section, neighboring sentences, two\n"
          "expressions for the same. tools/corpora/pairs.py makes such files from Debian packages.");
  if (!a.parse(args)) return 0;
  if (files.empty() || out.empty())
    throw UsageError("quern recall train-encoder: expected at least one FILE of pairs, and --out DIR");
  if (t.rows < 1 || t.width < 16 || t.width > 1024 || t.width % 16 != 0 || t.batch < 2 || t.together < 1 ||
      t.passes < 1)
    throw UsageError(
        "quern recall train-encoder: expected --stems, --together and --epochs of at least 1, --batch of at least 2 "
        "and --dimensions a multiple of 16 up to 1024");
  if (!(t.rate > 0) || !(t.temperature > 0))
    throw UsageError("quern recall train-encoder: expected --learning-rate and --temperature above 0");
  t.seed = static_cast<uint64_t>(seed);
  const Stopwatch watch;
  encoders::WordEncoderTrainer trainer(t);
  for (const std::string& file : files) add_pairs(file, trainer);
  fmt::print(stderr, "{} pairs read ({:.0f} s)\n", trainer.pairs(), watch.seconds());
  Progress progress;
  double loss = 0;
  const encoders::WordEncoder e = trainer.train([&](const encoders::WordEncoderTrainer::Progress& p) {
    loss = p.loss;
    progress("{} of {} batches, loss {:.3f}", p.done, p.all, p.loss);
  });
  encoders::save_word_encoder(e, out);
  fmt::print("{}: {} words, {} numbers each, loss {:.3f} ({:.0f} s)\n", out, e.rows(), e.width(), loss,
             watch.seconds());
  return 0;
}

}  // namespace quern::cli
