#include "quern/corpus/stages/convert.h"

#include <charconv>
#include <optional>

#include "quern/base/json.h"
#include "quern/corpus/io/json_line.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

namespace {

struct Document {
  std::string id, source, url, date, language, text, members;
  std::optional<double> language_score;
};

// Members of these names become columns, and stay among the others too.
void read_columns(const DocumentView& d, Document& x) {
  static const std::vector<std::string> names = {"url", "date", "language", "language_score", "source"};
  std::vector<JsonMember> found(names.size());
  std::vector<char> scratch(d.line.size());
  if (read_json_line(d.line, names, found, scratch.data())) return;
  std::string* const to[] = {&x.url, &x.date, &x.language, nullptr, &x.source};
  for (size_t i = 0; i < names.size(); ++i)
    if (to[i] && found[i].kind == JsonMember::Kind::string) *to[i] = found[i].value;
  double score = 0;
  const std::string_view written = found[3].value;  // a cell of CSV is text
  const bool number =
      found[3].kind == JsonMember::Kind::number || (d.table && found[3].kind == JsonMember::Kind::string);
  if (number && !written.empty() &&
      std::from_chars(written.data(), written.data() + written.size(), score).ptr == written.data() + written.size())
    x.language_score = score;
}

Document document_of(const DocumentView& d, const Inputs& in) {
  Document x{.id = {},
             .source = in.sources[d.source],
             .url = std::string(d.url),
             .date = std::string(d.date),
             .language = {},
             .text = std::string(d.text),
             .members = {},
             .language_score = {}};
  const std::string id = document_id_json(d);
  x.id = id.starts_with('"') ? Json::parse(id, "id").as_string("id") : id;
  if (!d.line.empty()) read_columns(d, x);
  append_without_text(d, x.members);
  x.members.pop_back();  // the line's end
  return x;
}

}  // namespace

ConvertReport write_parquet(const Inputs& inputs, const ScanOptions& o, const StageOutput& to,
                            const ScanProgress& progress, const std::function<void(const ConvertReport&)>& finish) {
  struct Nothing {};
  ConvertReport r;
  refuse_finished(to.folder);
  RunFolder run(to.folder, "parquet");
  std::optional<ParquetWriter> writer;
  const auto begin = [&] {
    r.files.push_back(fmt::format("part-{:05}.parquet", r.files.size()));
    list_file(run.folder(), {r.files.back(), true});
    writer.emplace(to.folder / r.files.back(), to.level);
  };
  r.scan = scan_documents<Nothing, std::vector<Document>>(
      inputs, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, std::vector<Document>& docs) { docs.push_back(document_of(d, inputs)); },
      [&](std::vector<Document>&& docs) {
        for (const Document& d : docs) {
          if (writer && writer->text_bytes() + d.text.size() > to.shard_bytes) writer->close(), writer.reset();
          if (!writer) begin();
          writer->add({.id = d.id,
                       .source = d.source,
                       .url = d.url,
                       .date = d.date,
                       .language = d.language,
                       .language_score = d.language_score,
                       .text = d.text,
                       .members = d.members});
        }
      },
      {progress});
  if (!writer) begin();
  writer->close();
  if (finish) finish(r);
  run.remove();
  return r;
}

}  // namespace quern::corpus
