#include "quern/corpus/scores/scores.h"

#include <algorithm>
#include <set>
#include <span>

#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/io/json_line.h"
#include "quern/kernels/quant/quant_format.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr size_t kAtOnce = 1024;

bool has_column(const DocumentView& d, const std::string& column) {
  std::string key;
  append_json_string(key, column);
  return d.line.find(key) != d.line.npos && Json::parse(d.line, "a document").find(column);
}

}  // namespace

encoders::TextEncoder load_classifier(const ScoreSettings& settings) {
  encoders::TextEncoder e =
      encoders::TextEncoder::load(settings.model, kernels::parse_format(settings.format, "format of weights"));
  if (!e.scores()) fail("{}: this encoder has no head for classification", settings.model);
  return e;
}

DocumentScorer::DocumentScorer(encoders::TextEncoder classifier, ScoreSettings settings)
    : settings_(std::move(settings)), classifier_(std::move(classifier)) {
  for (const char* taken : {"id", "text"})
    if (settings_.column == taken) fail("column '{}': documents have a member of this name; name another", taken);
  if (settings_.label.empty()) return;
  const auto& all = classifier_.labels();
  const auto at = std::ranges::find(all, settings_.label);
  if (at == all.end()) fail("label '{}': expected one of {}", settings_.label, fmt::join(all, ", "));
  label_ = at - all.begin();
}

ScoreReport DocumentScorer::score(const Inputs& inputs, const ScanOptions& scan,
                                  const std::function<void(std::string_view)>& put,
                                  const ScanCallbacks& callbacks) const {
  struct Nothing {};
  ScoreReport report;
  report.max_tokens = static_cast<uint64_t>(classifier_.max_tokens());
  std::string lines;
  report.scan = scan_documents<Nothing, std::vector<Document>>(
      inputs, scan, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, std::vector<Document>& out) {
        Document& x = out.emplace_back(Document{{}, std::string(d.text), has_column(d, settings_.column)});
        append_document(d, d.text, x.line);
      },
      [&](std::vector<Document>&& block) {
        lines.clear();
        score_block(block, report, lines);
        if (!lines.empty()) put(lines);
      },
      callbacks);
  return report;
}

void DocumentScorer::score_block(std::vector<Document>& block, ScoreReport& report, std::string& lines) const {
  for (size_t from = 0; from < block.size(); from += kAtOnce) {
    const size_t end = std::min(block.size(), from + kAtOnce);
    std::vector<std::string> texts;
    for (size_t i = from; i < end; ++i) texts.push_back(std::move(block[i].text));
    const encoders::EncoderResult r = classifier_.score(texts);
    report.truncated += static_cast<uint64_t>(r.truncated), report.documents += texts.size();
    for (size_t i = from; i < end; ++i) {
      std::string& line = block[i].line;
      if (block[i].has_column) {
        ++report.own_members;
        lines += line;
        continue;
      }
      line.resize(line.find_last_of('}'));
      if (line.find_last_not_of(" \t") != line.find('{')) line += ',';
      append_json_string(line, settings_.column);
      lines += line + ':' + value(r.rows, static_cast<int64_t>(i - from)) + "}\n";
    }
  }
}

std::string DocumentScorer::value(const Tensor& rows, int64_t i) const {
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

std::string score_model_hash(const std::string& folder) {
  std::set<fs::path> files;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) files.insert(e.path());
  std::string all;
  for (const fs::path& f : files) all += fmt::format("{} {:016x} ", fs::relative(f, folder).string(), file_hash(f));
  return all;
}

}  // namespace quern::corpus
