// Corpus stage `shorten`: the first `words` words of every document, as part-*.jsonl.zst. The example of
// docs/corpus/adding-a-filter.md.
#include "quern/base/config.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/stages/stage_registry.h"

namespace quern::corpus::stages {
namespace {

struct ShortenConfig {
  int64_t words = 100;
  template <class V>
  void visit(V& v) {
    v("words", words, "words to keep of every document");
  }
};

std::string_view first_words(std::string_view text, int64_t words) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t end = 0;
  for (int64_t i = 0; i < words && end != text.npos; ++i)
    end = text.find_first_of(kSpace, text.find_first_not_of(kSpace, end));
  return text.substr(0, end);
}

struct Lines {
  std::string text, frame;
  uint64_t bytes = 0;
  void pack(int level) {
    bytes = text.size();
    if (!text.empty()) zstd_frame(text, level, frame);
    text = {};
  }
};

StageResult shorten(const StageJob& job) {
  ShortenConfig c;
  from_json(job.settings, c, "stage shorten", UnknownKeys::refuse);
  if (c.words < 1) fail("stage shorten: words {}: expected 1 or more", c.words);
  refuse_finished(job.to.folder);
  StageRun run(job.to.folder, job.inputs, fmt::format("shorten {} {} {}", c.words, job.scan.text(), job.to.text()),
               job.to.checkpoint_bytes);
  ShardPosition at;
  if (const Json* from = run.state())
    read_state(from->at("shard"), at);
  else
    prepare_output(job.to.folder);
  ShardWriter shards(job.to.folder, "part", job.to.level, job.to.shard_bytes, at);
  StageResult r;
  r.went_on = run.went_on();
  r.scan = scan_documents<int, Lines>(
      job.inputs, job.scan, [&] { return job.to.level; },
      [&](int, const DocumentView& d, Lines& out) { append_document(d, first_words(d.text, c.words), out.text); },
      [&](Lines&& lines) { shards.write_frame(lines.frame, lines.bytes); },
      {job.progress, run.notes("shorten", [&](Json& state) { state.set("shard", write_value(shards.position())); })});
  shards.close();
  Json result = write_value(c);
  result.set("read", r.scan.read.json());
  if (job.finish) job.finish(result);
  run.remove();
  return r;
}

}  // namespace

void register_shorten(StageRegistry& r) { r.add("shorten", "keeps the first words of every document", shorten); }

}  // namespace quern::corpus::stages
