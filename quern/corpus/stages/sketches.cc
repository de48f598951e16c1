#include "quern/corpus/stages/sketches.h"

#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/json_line.h"
#include "quern/corpus/run/shards.h"

namespace quern::corpus {

namespace {

struct Sketcher {
  SketchMaker maker;
  int level;
};
struct SketchLines {
  std::string text, frame;
  uint64_t bytes = 0;
  void pack(const Sketcher& s) {
    bytes = text.size();
    if (!text.empty()) zstd_frame(text, s.level, frame);
    text = {};
  }
};

}  // namespace

SketchesReport write_sketches(const Inputs& inputs, const ScanOptions& o, const SketchConfig& c,
                              const StageOutput& to, const ScanProgress& progress,
                              const std::function<void(const SketchesReport&)>& finish) {
  SketchesReport r;
  refuse_finished(to.folder);
  StageRun run(to.folder, inputs, fmt::format("sketch 1 {} {} {}", o.text(), c.json().dump(), to.text()),
               to.checkpoint_bytes);
  r.went_on = run.went_on();
  ShardPosition at;
  if (const Json* from = run.state())
    read_state(from->at("shard"), at);
  else
    prepare_output(to.folder);
  ShardWriter shards(to.folder, "sketch", to.level, to.shard_bytes, at);
  r.scan = scan_documents<Sketcher, SketchLines>(
      inputs, o,
      [&] {
        return Sketcher{SketchMaker(c), to.level};
      },
      [&](Sketcher& sketcher, const DocumentView& d, SketchLines& lines) {
        const Sketch& s = sketcher.maker.make(d.text);
        lines.text += fmt::format("{{\"id\":{},\"source\":", d.id);
        append_json_string(lines.text, inputs.sources[d.source]);
        lines.text += fmt::format(",\"shingles\":{},\"content\":\"{:016x}{:016x}\",\"rows\":[{}]}}\n",
                                  s.shingles.size(), s.content.high, s.content.low, fmt::join(s.rows, ","));
      },
      [&](SketchLines&& lines) { shards.write_frame(lines.frame, lines.bytes); },
      {progress, run.notes("sketch", [&](Json& state) { state.set("shard", write_value(shards.position())); })});
  shards.close();
  r.files = shards.names(), r.bytes_out = shards.bytes_out();
  if (finish) finish(r);
  run.remove();
  return r;
}

}  // namespace quern::corpus
