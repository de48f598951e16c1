// Reading documents: quern_rows of quern.h.
#include "quern/capi/handles.h"
#include "quern/corpus/io/ingest.h"
#include "quern/corpus/stages/corpus_settings.h"

namespace quern::capi {
namespace {

struct RowSettings {
  corpus::SourceSettings source;
  corpus::ReadSettings read;
  template <class V>
  void visit(V& v) {
    source.visit(v), read.visit(v);
  }
};

RowSettings read_row_settings(const char* json) {
  RowSettings s;
  from_json(Json::parse(required(json, "options_json"), "options"), s, "options", UnknownKeys::refuse);
  if (s.source.filter != "none" || s.source.share || !s.source.score_field.empty() || !s.source.name.empty())
    fail("options: name, filter, share and score_field belong to a build; rows are read as they are");
  return s;
}

struct Document {
  std::string text, line, url, date;
  uint32_t source = 0;
};

}  // namespace
}  // namespace quern::capi

struct quern_rows {
  explicit quern_rows(const quern::capi::RowSettings& s)
      : inputs(quern::corpus::find_inputs(s.source.paths, s.source.form)),
        blocks(inputs, s.read.policy(), size_t{1} << 20),
        documents(inputs, {s.source.fields()}, s.read.policy()) {}
  quern_rows(const quern_rows&) = delete;  // the readers point into it
  quern_rows& operator=(const quern_rows&) = delete;

  // The next block that has a document in it; false at the end.
  bool fill() {
    for (at = 0, count = 0; count == 0;) {
      if (!blocks.next(block)) {
        quern::corpus::refuse_when_all_is_lost(inputs, counts, blocks.damaged());
        return false;
      }
      documents.read(
          block, counts,
          [&](const quern::corpus::DocumentView& d) {
            if (!d.label_passes) return;
            if (count == ready.size()) ready.emplace_back();
            quern::capi::Document& to = ready[count++];
            to.text = d.text, to.line = d.line, to.url = d.url, to.date = d.date, to.source = d.source;
          },
          [](uint64_t, quern::corpus::RecordProblem) {});
    }
    return true;
  }

  quern::corpus::Inputs inputs;
  quern::corpus::BlockReader blocks;
  quern::corpus::DocumentReader documents;
  quern::corpus::ReadCounts counts = {};
  quern::corpus::Block block = {};
  std::vector<quern::capi::Document> ready = {};  // the first `count`; the others keep their memory
  size_t at = 0, count = 0;                       // at: one past the current one
};

using namespace quern::capi;

extern "C" {

quern_rows* quern_rows_open(const char* options_json) {
  return guarded(static_cast<quern_rows*>(nullptr), [&] { return new quern_rows(read_row_settings(options_json)); });
}

void quern_rows_free(quern_rows* rows) { delete rows; }

int quern_rows_next(quern_rows* rows) {
  return guarded(-1, [&] {
    quern_rows& r = required(rows, "rows");
    if (r.at >= r.count && !r.fill()) return 0;
    ++r.at;
    return 1;
  });
}

const char* quern_rows_field(const quern_rows* rows, const char* name, int64_t* length) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const quern_rows& r = required(rows, "rows");
    if (r.at == 0 || r.at > r.count) quern::fail("there is no row: quern_rows_next did not return 1");
    const Document& d = r.ready[r.at - 1];
    const std::string_view which = required(name, "name");
    const std::string* field = which == "text"     ? &d.text
                               : which == "line"   ? &d.line
                               : which == "url"    ? &d.url
                               : which == "date"   ? &d.date
                               : which == "source" ? &r.inputs.sources[d.source]
                                                   : nullptr;
    if (!field) quern::fail("'{}' is no field of a row: expected text, line, url, date or source", which);
    required(length, "length") = static_cast<int64_t>(field->size());
    return field->c_str();
  });
}

int64_t quern_rows_skipped(const quern_rows* rows) {
  return guarded(int64_t{-1}, [&] { return static_cast<int64_t>(required(rows, "rows").counts.bad()); });
}

}  // extern "C"
