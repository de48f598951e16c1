#include "quern/corpus/stages/decontaminate.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

// The items of a text file.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> paragraphs(1);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r\f\v") != line.npos)
      (paragraphs.back() += line) += '\n';
    else if (!paragraphs.back().empty())
      paragraphs.emplace_back();
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  if (paragraphs.size() != 1) return paragraphs;
  std::vector<std::string> lines;
  const std::string& all = paragraphs[0];
  for (size_t at = 0, end = 0; at < all.size(); at = end + 1) {
    end = all.find('\n', at);
    lines.push_back(all.substr(at, end - at));
  }
  return lines;
}

// The items of one document, with the field of this number read: a text or a page has the same in all fields.
std::vector<std::string> items_of(const DocumentView& d, const Inputs& in, size_t field) {
  const InputForm form = in.files[d.id >> 36 & (kMaxFiles - 1)].form;
  if (!is_lines(form) && field > 0) return {};
  if (form == InputForm::text) return items_of(d.text);
  return {std::string(d.text)};
}

}  // namespace

std::string DecontaminateSettings::text(const Inputs& benchmarks) const {
  return run_identity(benchmarks,
                      fmt::format("decontaminate 2 {} {} {} {}", words, shortest, minimum, fmt::join(fields, "\n")));
}

Json Benchmarks::json(const DecontaminateSettings& s) const {
  Json j = Json::object();
  j.set("inputs", inputs.json()), j.set("items", static_cast<int64_t>(index->items()));
  j.set("too_short", static_cast<int64_t>(index->too_short()));
  j.set("ngrams", static_cast<int64_t>(index->grams())), j.set("words", s.words), j.set("least", s.minimum);
  return j;
}

Benchmarks read_benchmarks(const DecontaminateSettings& s) {
  Benchmarks b{.inputs = find_inputs(s.against, "auto", "benchmark")};
  const auto index = std::make_shared<NgramIndex>(
      NgramOptions{static_cast<int>(s.words), static_cast<int>(s.shortest), static_cast<int>(s.minimum)});
  std::vector<std::string> lost;  // files that had none of the fields so far; in the order of the files
  for (const std::string& field : s.fields) {
    struct Nothing {};
    ScanOptions o;
    o.fields[0].text = field;
    b.read.push_back(scan_documents<Nothing, std::vector<std::string>>(
        b.inputs, o, [] { return Nothing(); },
        [&](Nothing&, const DocumentView& d, std::vector<std::string>& items) {
          for (std::string& item : items_of(d, b.inputs, static_cast<size_t>(&field - s.fields.data())))
            items.push_back(std::move(item));
        },
        [&](std::vector<std::string>&& items) {
          for (const std::string& item : items) index->add(item);
        }));
    const std::vector<std::string> none = lost_inputs(b.inputs, b.read.back().read, b.read.back().damaged);
    if (b.read.size() == 1) lost = none;
    std::erase_if(lost, [&](const std::string& file) { return std::ranges::find(none, file) == none.end(); });
  }
  if (!lost.empty()) fail("{}: a benchmark without any text in the fields {}", lost[0], fmt::join(s.fields, ", "));
  index->finish();
  if (index->grams() == 0)
    fail("the benchmarks have no n-gram: every item is shorter than {} words, the least that is set", s.shortest);
  b.index = index;
  return b;
}

}  // namespace quern::corpus
