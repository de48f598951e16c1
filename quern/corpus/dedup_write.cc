// The second reading: survivors' lines into shards, the texts of the report's samples, the position noted now and
// then.
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/byte_stream.h"
#include "quern/corpus/dedup_run.h"
#include "quern/corpus/pipeline.h"
#include "quern/corpus/run_state.h"
#include "quern/corpus/shards.h"

namespace quern::corpus {
namespace {

constexpr size_t kSampleBytes = 600;

std::string_view beginning(std::string_view text) {
  if (text.size() <= kSampleBytes) return text;
  size_t n = kSampleBytes;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  return text.substr(0, n);
}

}  // namespace

struct DedupRun::Part {
  std::string frame;
  uint64_t unpacked = 0, documents = 0, bytes = 0;
  BlockPosition after;
  std::vector<std::pair<uint32_t, std::string>> samples;
};

SampleDocument* DedupRun::wanted(uint32_t number) {
  for (ClusterSample& c : report_.samples) {
    if (c.survivor.number == number) return &c.survivor;
    for (SampleDocument& d : c.removed)
      if (d.number == number) return &d;
  }
  return nullptr;
}

DedupRun::Part DedupRun::copy_survivors(Block&& block) {
  std::unique_ptr<DedupWorker> w;
  Part part;
  std::string lines;
  ReadCounts ignored;
  part.bytes = block.bytes.size(), part.after = std::move(block.after);
  const auto read_one = [&](size_t i, auto&& f) {
    if (!w) w = borrow();
    Block one;
    one.first = block.first + i;
    one.rows = {block.rows[i]};
    one.bytes = block.text(block.rows[i]);
    one.rows[0].begin = 0, one.rows[0].end = one.bytes.size();
    w->reader.read(one, ignored, f, [](uint64_t, RowProblem) {});
  };
  for (size_t i = 0; i < block.rows.size(); ++i) {
    if (wanted(static_cast<uint32_t>(block.first + i)))
      read_one(i, [&](const DocumentView& d) {
        part.samples.emplace_back(static_cast<uint32_t>(d.number), std::string(beginning(d.text)));
      });
    const uint8_t fate = fates_[block.first + i];
    if ((fate & ~kMarks) != kKept || (fate & kUnlabelled)) continue;
    const Row& row = block.rows[i];
    ++part.documents;
    if (is_lines(in_.files[row.file].form) && !(fate & kChanged) && !c_.read.replace_utf8) {
      lines += block.text(row);
      lines += '\n';
      continue;
    }
    read_one(i, [&](const DocumentView& d) {
      DocumentFilter* f =
          fate & kChanged ? w->filters[static_cast<size_t>(filters_.of_source[d.source])].get() : nullptr;
      append_document(d, f ? f->judge_page(d.text, d.url).text : d.text, lines);
    });
  }
  if (w) give_back(std::move(w));
  part.unpacked = lines.size();
  if (!lines.empty()) zstd_frame(lines, c_.level, part.frame);
  return part;
}

void DedupRun::emit(const Json* from) {
  BlockPosition at;
  ShardPosition shard;
  uint64_t documents = 0;
  if (from) {
    read_state(from->at("report"), report_), read_state(from->at("position"), at);
    read_state(from->at("shard"), shard), read_state(from->at("written"), documents);
    const std::string fates = read_file(folder_.file("verdicts"));
    fates_.assign(fates.begin(), fates.end());
    ++report_.resumed;
  } else {
    write_file(folder_.file("verdicts"), {reinterpret_cast<const char*>(fates_.data()), fates_.size()});
  }
  const auto note = [&](ShardWriter& shards) {
    Json j = Json::object();
    j.set("phase", "write"), j.set("position", state_json(at)), j.set("shard", state_json(shards.position()));
    j.set("written", state_json(documents)), j.set("report", state_json(report_));
    folder_.save(std::move(j));
    noted_ = 0;
  };
  stage("write", report_.kept, in_.bytes(), [&](StageReport& s) {
    BlockReader blocks(in_, c_.read, c_.block_bytes);
    ShardWriter shards(out_, "part", c_.level, c_.shard_bytes, shard);
    if (from) blocks.seek(at);
    note(shards);
    ordered_pipeline<Block, Part>(
        thread_count(),
        [&](Block& b) {
          if (!blocks.next(b)) return false;
          if (b.first + b.rows.size() > fates_.size()) fail("the inputs grew between the two readings");
          return true;
        },
        [&](Block&& b) { return copy_survivors(std::move(b)); },
        [&](Part&& p) {
          shards.write_frame(p.frame, p.unpacked);
          documents += p.documents, at = std::move(p.after), noted_ += p.bytes;
          for (auto& [number, text] : p.samples) wanted(number)->text = std::move(text);
          if (noted_ >= c_.checkpoint_bytes) note(shards);
          tell("write", at.packed, in_.bytes(), documents);
        });
    if (at.next != fates_.size()) fail("the inputs shrank between the two readings");
    shards.close();
    s.documents_out = documents;
    report_.bytes_out = shards.bytes_out();
    for (const std::string& n : shards.names()) report_.outputs.emplace_back(n, file_hash(out_ / n));
    report_.outputs.emplace_back("clusters.jsonl.zst", file_hash(out_ / "clusters.jsonl.zst"));
  });
}

}  // namespace quern::corpus
