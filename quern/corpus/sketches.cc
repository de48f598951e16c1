#include "quern/corpus/sketches.h"

#include "quern/corpus/byte_stream.h"
#include "quern/corpus/json_line.h"
#include "quern/corpus/shards.h"

namespace quern::corpus {

SketchesReport write_sketches(const Inputs& inputs, const ScanOptions& o, const SketchConfig& c, int level,
                              uint64_t shard_bytes, const std::filesystem::path& out, const ScanProgress& progress) {
  struct Lines {
    std::string text;
  };
  SketchesReport r;
  prepare_output(out);
  ShardWriter shards(out, "sketch", level, shard_bytes);
  r.scan = scan_documents<SketchMaker, Lines>(
      inputs, o, [&] { return SketchMaker(c); },
      [&](SketchMaker& maker, const DocumentView& d, Lines& lines) {
        const Sketch& s = maker.make(d.text);
        lines.text += fmt::format("{{\"id\":{},\"source\":", d.id);
        append_json_string(lines.text, inputs.sources[d.source]);
        lines.text += fmt::format(",\"shingles\":{},\"content\":\"{:016x}{:016x}\",\"rows\":[{}]}}\n",
                                  s.shingles.size(), s.content.high, s.content.low, fmt::join(s.rows, ","));
      },
      [&](Lines&& lines) {
        std::string frame;
        if (!lines.text.empty()) zstd_frame(lines.text, level, frame);
        shards.write_frame(frame, lines.text.size());
      },
      progress);
  shards.close();
  r.files = shards.names(), r.bytes_out = shards.bytes_out();
  return r;
}

}  // namespace quern::corpus
