// What was counted while documents were read, and the names of what records can be wrong by.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "quern/base/error.h"
#include "quern/corpus/io/blocks.h"

namespace quern::corpus {
namespace {

constexpr uint64_t kMaxExamples = 8, kMaxBadFiles = 8;  // of a file; files
constexpr size_t kMaxTypes = 64;

constexpr const char* kProblemNames[kRecordProblems] = {
    "none", "blank",      "bad_json",   "no_text",  "bad_utf8", "too_long",  "not_text",
    "cut",  "other_type", "empty_page", "bad_body", "bad_csv",  "bad_field", "damaged"};

}  // namespace

const char* record_problem_name(RecordProblem p) { return kProblemNames[static_cast<int>(p)]; }

FileRows& ReadCounts::of_file(uint64_t file) {
  if (files.empty() || files.back().file < file) return files.emplace_back(FileRows{file});
  const auto at = std::ranges::lower_bound(files, file, {}, &FileRows::file);
  return at->file == file ? *at : *files.insert(at, FileRows{file});
}

// Which are kept depends on the order of the rows alone, not on how they were cut into blocks and ranks.
void ReadCounts::keep(const BadRow& row) {
  uint64_t same = 0, others = 0;
  std::optional<uint64_t> last;
  for (const BadRow& e : examples)
    same += e.file == row.file, others += e.file != row.file && e.file != last, last = e.file;
  if (same < kMaxExamples && (same > 0 || others < kMaxBadFiles)) examples.push_back(row);
}

void ReadCounts::add(const ReadCounts& o) {
  rows += o.rows, documents += o.documents, text_bytes += o.text_bytes, replaced += o.replaced, mended += o.mended;
  no_field += o.no_field;
  for (int i = 0; i < kRecordProblems; ++i) problems[i] += o.problems[i];
  unscored += o.unscored, own_ids += o.own_ids, guessed += o.guessed, truncated += o.truncated;
  if (first_truncated.empty()) first_truncated = o.first_truncated;
  for (const TypeCount& t : o.types) count_type(t.type, t.rows);
  for (const BadRow& e : o.examples) keep(e);
  for (const FileRows& f : o.files) {
    FileRows& mine = of_file(f.file);
    mine.documents += f.documents, mine.bad += f.bad, mine.others += f.others, mine.no_url += f.no_url;
  }
}

void ReadCounts::example(const Row& row, const InputFile& file, const std::string& why) {
  keep({row.file, fmt::format("{}:{}: {}", file.path.string(), row.place(), why)});
}

void ReadCounts::count(uint64_t file, RecordProblem p) {
  ++rows, ++problems[static_cast<int>(p)];
  if (p == RecordProblem::none)
    ++documents, ++of_file(file).documents;
  else if (p == RecordProblem::other_type)
    ++of_file(file).others;
  else if (is_bad(p))
    ++of_file(file).bad;
}

void ReadCounts::count_type(const std::string& type, uint64_t n) {
  auto at = std::ranges::find(types, type, &TypeCount::type);
  if (at == types.end() && types.size() + 1 >= kMaxTypes) {
    constexpr const char* kOthers = "others";
    at = std::ranges::find(types, kOthers, &TypeCount::type);
    if (at == types.end()) types.push_back({kOthers, 0}), at = types.end() - 1;
  }
  if (at == types.end()) types.push_back({type, 0}), at = types.end() - 1;
  at->rows += n;
}

uint64_t ReadCounts::bad() const {
  uint64_t n = 0;
  for (const FileRows& f : files) n += f.bad;
  return n;
}

Json ReadCounts::json() const {
  Json j = Json::object();
  j.set("rows", static_cast<int64_t>(rows)), j.set("documents", static_cast<int64_t>(documents));
  j.set("text_bytes", static_cast<int64_t>(text_bytes)), j.set("utf8_replaced", static_cast<int64_t>(replaced));
  j.set("json_fixed", static_cast<int64_t>(mended)), j.set("unscored", static_cast<int64_t>(unscored));
  j.set("own_ids", static_cast<int64_t>(own_ids)), j.set("guessed_encoding", static_cast<int64_t>(guessed));
  for (int i = 1; i < kRecordProblems; ++i) j.set(kProblemNames[i], static_cast<int64_t>(problems[i]));
  Json kinds = Json::object();
  for (const TypeCount& t : types) kinds.set(t.type, static_cast<int64_t>(t.rows));
  j.set("truncated", static_cast<int64_t>(truncated)), j.set("other_types", std::move(kinds));
  Json list = Json::array();
  for (const BadRow& e : examples) list.push(Json(e.text));
  j.set("examples", std::move(list));
  return j;
}

Json inputs_json(const Inputs& inputs, const ReadCounts& read) {
  Json list = inputs.json();
  auto at = read.files.begin();
  for (size_t i = 0; i < list.items().size(); ++i) {
    const bool known = at != read.files.end() && at->file == i;
    list.items()[i].set("documents", known ? static_cast<int64_t>(at->documents) : int64_t{0});
    list.items()[i].set("invalid", known ? static_cast<int64_t>(at->bad) : int64_t{0});
    at += known;
  }
  return list;
}

std::vector<std::string> lost_inputs(const Inputs& inputs, const ReadCounts& read,
                                     const std::vector<std::string>& damaged) {
  std::vector<std::string> lost;
  auto at = read.files.begin();
  for (size_t i = 0; i < inputs.files.size(); ++i) {
    const std::string path = inputs.files[i].path.string();
    const bool known = at != read.files.end() && at->file == i;
    const bool broken = std::ranges::any_of(
        damaged, [&](const std::string& d) { return d.starts_with(path + ":") || d.starts_with(path + " "); });
    if (known ? at->documents == 0 : broken) lost.push_back(path);
    at += known;
  }
  return lost;
}

std::vector<std::string> sources_without_url(const Inputs& inputs, const ReadCounts& read) {
  struct Documents {
    uint64_t all = 0, without = 0;
  };
  std::vector<Documents> by_source(inputs.sources.size());
  for (const FileRows& f : read.files) {
    const InputFile& file = inputs.files.at(f.file);
    if (is_lines(file.form)) by_source[file.source].all += f.documents, by_source[file.source].without += f.no_url;
  }
  std::vector<std::string> names;
  for (size_t s = 0; s < by_source.size(); ++s)
    if (by_source[s].all > 0 && by_source[s].without == by_source[s].all) names.push_back(inputs.sources[s]);
  return names;
}

std::string types_in_words(const ReadCounts& read) {
  std::vector<TypeCount> types = read.types;
  std::ranges::stable_sort(types, std::greater(), &TypeCount::rows);
  std::vector<std::string> words;
  for (const TypeCount& t : types) words.push_back(fmt::format("{} {}", t.rows, t.type));
  return fmt::format("{}", fmt::join(words, ", "));
}

void refuse_when_all_is_lost(const Inputs& inputs, const ReadCounts& read, const std::vector<std::string>& damaged) {
  if (read.documents > 0 && read.unscored == read.documents)
    fail("none of {} documents has a number in the field of the score", read.documents);
  if (read.documents > 0) return;
  if (read.bad() == 0 && damaged.empty()) {
    if (!read.types.empty()) fail("no web page is in {} input files: {}", inputs.files.size(), types_in_words(read));
    return;
  }
  fail("no document could be read from {} input files; {}: {}", inputs.files.size(),
       read.examples.empty() ? "the first damage" : "the first invalid record",
       read.examples.empty() ? damaged[0] : read.examples[0].text);
}

}  // namespace quern::corpus
