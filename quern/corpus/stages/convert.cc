#include "quern/corpus/stages/convert.h"

#include <optional>

#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

ConvertReport write_parquet(const Inputs& inputs, const ScanOptions& o, const StageOutput& to,
                            const ScanProgress& progress, const std::function<void(const ConvertReport&)>& finish) {
  struct Nothing {};
  struct Document {
    uint64_t id;
    uint32_t source;
    std::string text, members;
  };
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
      [](Nothing&, const DocumentView& d, std::vector<Document>& docs) {
        Document& x = docs.emplace_back(Document{d.id, d.source, std::string(d.text), ""});
        if (d.line.empty() && d.url.empty() && d.date.empty()) return;
        if (d.line.empty()) {
          x.members = "{\"url\":";
          append_json_string(x.members, d.url);
          x.members += ",\"date\":";
          append_json_string(x.members, d.date);
          x.members += ",\"text\":null}";
          return;
        }
        const auto before = static_cast<size_t>(d.text_raw.data() - d.line.data());
        x.members.append(d.line, 0, before);
        x.members += "null";
        x.members.append(d.line, before + d.text_raw.size());
      },
      [&](std::vector<Document>&& docs) {
        for (const Document& d : docs) {
          if (writer && writer->text_bytes() + d.text.size() > to.shard_bytes) writer->close(), writer.reset();
          if (!writer) begin();
          writer->add(d.id, inputs.sources[d.source], d.text, d.members);
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
