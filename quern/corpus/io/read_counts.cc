// What was counted while documents were read, and the names of what records can be wrong by.
#include <fmt/format.h>

#include "quern/corpus/io/blocks.h"

namespace quern::corpus {
namespace {

constexpr size_t kMaxExamples = 8;

constexpr const char* kProblemNames[kRecordProblems] = {"none",     "blank",    "bad_json", "no_text",
                                                        "bad_utf8", "too_long", "not_text", "cut"};

}  // namespace

const char* record_problem_name(RecordProblem p) { return kProblemNames[static_cast<int>(p)]; }

void ReadCounts::add(const ReadCounts& o) {
  rows += o.rows, documents += o.documents, text_bytes += o.text_bytes, replaced += o.replaced;
  for (int i = 0; i < kRecordProblems; ++i) problems[i] += o.problems[i];
  for (const std::string& e : o.examples)
    if (examples.size() < kMaxExamples) examples.push_back(e);
}

void ReadCounts::example(const InputFile& file, uint64_t row, const std::string& why) {
  if (examples.size() < kMaxExamples) examples.push_back(fmt::format("{}:{}: {}", file.path.string(), row + 1, why));
}

Json ReadCounts::json() const {
  Json j = Json::object();
  j.set("rows", static_cast<int64_t>(rows)), j.set("documents", static_cast<int64_t>(documents));
  j.set("text_bytes", static_cast<int64_t>(text_bytes)), j.set("utf8_replaced", static_cast<int64_t>(replaced));
  for (int i = 1; i < kRecordProblems; ++i) j.set(kProblemNames[i], static_cast<int64_t>(problems[i]));
  Json list = Json::array();
  for (const std::string& e : examples) list.push(Json(e));
  j.set("examples", std::move(list));
  return j;
}

}  // namespace quern::corpus
