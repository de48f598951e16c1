// quern corpus score: adds what a classifier says of every document, as a column.
#include <algorithm>

#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "apps/quern/encoders/encoder_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/corpus/io/json_line.h"
#include "quern/encoders/text_encoder.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct ScoreFlags {
  std::string model, out, column = "score", label;
  EncoderFlags encoder;
};

// Lines of output wait until there are enough for a call of the classifier.
class ScoredLines {
 public:
  ScoredLines(const ScoreFlags& f, const encoders::TextEncoder& classifier)
      : classifier_(classifier), column_(f.column), out_(f.out) {
    if (f.label.empty()) return;
    const auto& all = classifier.labels();
    const auto at = std::find(all.begin(), all.end(), f.label);
    if (at == all.end())
      throw UsageError(
          fmt::format("quern corpus score: --label '{}': expected one of {}", f.label, fmt::join(all, ", ")));
    label_ = at - all.begin();
  }
  struct Document {
    std::string line, text;
  };
  void add(Document&& d) {
    lines_.push_back(std::move(d.line)), texts_.push_back(std::move(d.text));
    if (texts_.size() >= kAtOnce) flush();
  }
  void commit() {
    flush();
    out_.commit();
  }
  int64_t documents = 0, truncated = 0;

 private:
  static constexpr size_t kAtOnce = 1024;
  void flush() {
    if (texts_.empty()) return;
    const encoders::EncoderResult r = classifier_.score(texts_);
    truncated += r.truncated, documents += static_cast<int64_t>(texts_.size());
    for (size_t i = 0; i < lines_.size(); ++i) {
      std::string& line = lines_[i];
      line.resize(line.find_last_of('}'));
      if (line.find_last_not_of(" \t") != line.find('{')) line += ',';
      append_json_string(line, column_);
      line += ':' + value(r.rows, static_cast<int64_t>(i)) + "}\n";
      out_.write(line);
    }
    lines_.clear(), texts_.clear();
  }
  std::string value(const Tensor& rows, int64_t i) const {
    const int64_t n = rows.dim(1);
    const auto number = [&](int64_t k) { return fmt::format("{:.6g}", rows.item(i * n + k)); };
    if (label_ >= 0 || n == 1) return number(std::max<int64_t>(0, label_));
    std::string out = "{";
    for (int64_t k = 0; k < n; ++k) {
      if (k > 0) out += ',';
      append_json_string(out, classifier_.labels()[static_cast<size_t>(k)]);
      out += ':' + number(k);
    }
    return out + "}";
  }

  const encoders::TextEncoder& classifier_;
  std::string column_;
  LineFile out_;
  int64_t label_ = -1;
  std::vector<std::string> lines_, texts_;
};

void refuse_column(const DocumentView& d, const std::string& column) {
  std::string key;
  append_json_string(key, column);
  if (d.line.empty() || d.line.find(key) == d.line.npos) return;
  if (Json::parse(d.line, "a document").find(column))
    fail("a document has a member '{}' already: give the score another name with --column", column);
}

}  // namespace

int corpus_score(Words args) {
  CorpusFlags flags;
  ScoreFlags f;
  Args a("corpus score", "add a column with the score of a classifier (an encoder with a head)");
  flags.declare_reading(a);
  a.flag("--model DIR", f.model, "folder of the classifier: BERT, DeBERTa or ModernBERT for sequence classification")
      .flag("--out FILE", f.out, "file of JSON lines to write; - is stdout")
      .flag("--column NAME", f.column, "name of the column")
      .flag("--label NAME", f.label, "write the score of this label alone, as a number")
      .settings(f.encoder)
      .note(
          "The column is a number for a head with one label, else an object of probabilities by label. Documents\n"
          "longer than the model reads are cut, and counted.");
  if (!a.parse(args)) return 0;
  flags.check_reading("corpus score");
  if (f.model.empty()) throw UsageError("quern corpus score: --model is missing: expected a folder");
  if (f.out.empty()) throw UsageError("quern corpus score: --out is missing: expected a file, or - for stdout");
  const kernels::QuantFormat format = checked_usage("corpus score", [&] { return f.encoder.parsed(); });
  const Inputs in = flags.inputs();
  const auto classifier = encoders::TextEncoder::load(model_folder(f.model), format);
  if (!classifier.scores()) fail("{}: this encoder has no head for classification", f.model);
  ScoredLines lines(f, classifier);
  struct Nothing {};
  using Documents = std::vector<ScoredLines::Document>;
  const ScanReport r = scan_documents<Nothing, Documents>(
      in, flags.scan(), [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Documents& out) {
        refuse_column(d, f.column);
        ScoredLines::Document& x = out.emplace_back(ScoredLines::Document{{}, std::string(d.text)});
        append_document(d, d.text, x.line);
      },
      [&](Documents&& documents) {
        for (ScoredLines::Document& d : documents) lines.add(std::move(d));
      });
  lines.commit();
  const int status = warn_about(r.read, r.damaged, in);
  if (lines.truncated > 0)
    fmt::print(stderr, "note: {} of {} documents were cut to {} tokens\n", lines.truncated, lines.documents,
               classifier.max_tokens());
  if (f.out != "-") fmt::print("{}: {} documents scored\n", f.out, lines.documents);
  return status;
}

}  // namespace quern::cli
