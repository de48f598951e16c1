// Second pass: writes the lines of kept documents to shards, collects texts for the report's samples, saves its
// position regularly. Each rank compresses frames into files of its own, which the first rank concatenates.
#include <cstring>
#include <functional>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/dedup_run.h"
#include "quern/corpus/io/byte_stream.h"
#include "quern/corpus/run/pipeline.h"
#include "quern/corpus/run/run_state.h"
#include "quern/corpus/run/shards.h"

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

struct DedupRun::RewrittenBlock {
  std::string frame;
  uint64_t unpacked = 0, documents = 0, bytes = 0;
  BlockPosition after;
  std::vector<std::pair<uint32_t, std::string>> samples;
};

struct DedupRun::Sink {
  std::function<void(const RewrittenBlock&)> put;
  std::function<void(const BlockPosition&)> note;
};

namespace {

struct FrameRecord {
  uint64_t block, packed, unpacked;
};

}  // namespace

SampleDocument* DedupRun::wanted(uint32_t number) {
  for (ClusterSample& c : report_.samples) {
    if (c.survivor.number == number) return &c.survivor;
    for (SampleDocument& d : c.removed)
      if (d.number == number) return &d;
  }
  return nullptr;
}

DedupRun::RewrittenBlock DedupRun::copy_survivors(const Block& block) {
  std::unique_ptr<DedupWorker> w;
  RewrittenBlock part;
  std::string lines;
  ReadCounts ignored;
  part.bytes = block.bytes.size(), part.after = block.after;
  const auto read_one = [&](size_t i, auto&& f) {
    if (!w) w = borrow();
    Block one;
    one.first = block.first + i;
    one.rows = {block.rows[i]};
    one.bytes.append(block.text(block.rows[i]));
    one.rows[0].begin = 0, one.rows[0].end = one.bytes.size();
    w->reader.read(one, ignored, f, [](uint64_t, RecordProblem) {});
  };
  for (size_t i = 0; i < block.rows.size(); ++i) {
    if (wanted(static_cast<uint32_t>(block.first + i)))
      read_one(i, [&](const DocumentView& d) {
        part.samples.emplace_back(static_cast<uint32_t>(d.number), std::string(beginning(d.text)));
      });
    const uint8_t status = statuses_[block.first + i];
    if ((status & ~kMarks) != kKept || (status & kUnlabeled)) continue;
    const Row& row = block.rows[i];
    ++part.documents;
    if (is_lines(in_.files[row.file].form) && !(status & kChanged) && !c_.read.replace_utf8) {
      lines += block.text(row);
      lines += '\n';
      continue;
    }
    read_one(i, [&](const DocumentView& d) {
      DocumentFilter* f =
          status & kChanged ? w->filters[static_cast<size_t>(filters_.of_source[d.source])].get() : nullptr;
      DocumentView own = d;
      own.id = index_.id_behind(d.id);
      append_document(own, f ? f->apply_page(d.text, d.url).text : d.text, lines);
    });
  }
  if (w) give_back(std::move(w));
  part.unpacked = lines.size();
  if (!lines.empty()) zstd_frame(lines, c_.level, part.frame);
  return part;
}

void DedupRun::write_again(BlockPosition at, Sink& sink, uint64_t& documents) {
  BlockReader blocks(in_, c_.read, c_.block_bytes);
  blocks.want_hashes();
  blocks.seek(at);
  sink.note(at);
  ordered_pipeline<Block, RewrittenBlock>(
      thread_count(),
      [&](Block& b) {
        while (blocks.next(b)) {
          b.first += index_.documents;
          if (b.first + b.rows.size() > statuses_.size())
            fail("an input grew between the two passes: do not write to inputs during a run");
          if (mine(b)) return true;
        }
        at = b.after;
        return false;
      },
      [&](const Block& b) { return copy_survivors(b); },
      [&](RewrittenBlock&& p) {
        sink.put(p);
        documents += p.documents, noted_ += p.bytes;
        for (auto& [number, text] : p.samples) wanted(number)->text = std::move(text);
        if (noted_ >= c_.checkpoint_bytes) sink.note(p.after), noted_ = 0;
        report_progress("write", p.after.packed, in_.bytes(), documents);
      });
  for (size_t f = 0; f < in_.files.size(); ++f) report_.input_hashes.push_back(blocks.hash(f));
  if (index_.documents + at.next != statuses_.size())
    fail("an input shrank between the two passes: do not write to inputs during a run");
  sink.note(at);
}

void DedupRun::emit_shards(const Json* from, StageReport& s) {
  BlockPosition at;
  ShardPosition shard;
  uint64_t documents = 0;
  if (from) {
    read_state(from->at("position"), at), read_state(from->at("shard"), shard);
    read_state(from->at("written"), documents);
  }
  ShardWriter shards(out_, "part", c_.level, c_.shard_bytes, shard);
  Sink sink{[&](const RewrittenBlock& p) { shards.write_frame(p.frame, p.unpacked); },
            [&](const BlockPosition& to) {
              Json j = Json::object();
              j.set("phase", "write"), j.set("position", state_json(to));
              j.set("shard", state_json(shards.position()));
              j.set("written", state_json(documents)), j.set("report", state_json(report_));
              folder_.save(std::move(j));
            }};
  write_again(at, sink, documents);
  shards.close();
  s.documents_out = documents;
  report_.bytes_out = shards.bytes_out();
  for (const std::string& n : shards.names()) report_.outputs.emplace_back(n, 0);
}

void DedupRun::note_frames(const BlockPosition& to, uint64_t documents, uint64_t frames, uint64_t table) {
  Json j = Json::object();
  j.set("phase", "write"), j.set("position", state_json(to)), j.set("written", state_json(documents));
  j.set("frames", state_json(frames)), j.set("table", state_json(table));
  j.set("report", state_json(report_));
  folder_.save(std::move(j));
}

void DedupRun::emit_frames(const Json* from, StageReport& s) {
  BlockPosition at;
  uint64_t documents = 0, frame_bytes = 0, table_bytes = 0;
  if (from) {
    read_state(from->at("position"), at), read_state(from->at("written"), documents);
    read_state(from->at("frames"), frame_bytes), read_state(from->at("table"), table_bytes);
  }
  {
    SpillFile frames = SpillFile::named(folder_.file("frames"), frame_bytes);
    SpillFile table = SpillFile::named(folder_.file("frame-table"), table_bytes);
    Sink sink{[&](const RewrittenBlock& p) {
                const FrameRecord r{p.after.blocks - 1, p.frame.size(), p.unpacked};
                frames.append(p.frame.data(), p.frame.size()), table.append(&r, sizeof r);
              },
              [&](const BlockPosition& to) {
                frames.flush(), table.flush();
                note_frames(to, documents, frames.size(), table.size());
              }};
    write_again(at, sink, documents);
  }
  s.documents_out = ranks_.sum(documents);
  const std::vector<std::string> found = ranks_.texts(state_json(report_.samples).dump());
  if (!ranks_.first()) return;
  for (const std::string& text : found) {
    std::vector<ClusterSample> theirs;
    read_state(Json::parse(text), theirs);
    for (ClusterSample& c : theirs) {
      if (!c.survivor.text.empty()) wanted(c.survivor.number)->text = std::move(c.survivor.text);
      for (SampleDocument& d : c.removed)
        if (!d.text.empty()) wanted(d.number)->text = std::move(d.text);
    }
  }
  struct Stream {
    SpillFile frames, table;
    uint64_t at = 0, next = 0;
  };
  std::vector<Stream> streams;
  uint64_t blocks = 0;
  for (int r = 0; r < ranks_.size(); ++r) {
    streams.push_back({SpillFile::existing(folder_.of_rank(r) / "frames"),
                       SpillFile::existing(folder_.of_rank(r) / "frame-table"), 0, 0});
    blocks += streams.back().table.size() / sizeof(FrameRecord);
  }
  ShardWriter shards(out_, "part", c_.level, c_.shard_bytes);
  std::string frame;
  for (uint64_t b = 0; b < blocks; ++b) {
    Stream& from_rank = streams[b % streams.size()];
    const auto r = from_rank.table.record<FrameRecord>(from_rank.next++);
    QUERN_CHECK(r.block == b, "frame of block {} where {} was to come", r.block, b);
    frame.resize(r.packed);
    from_rank.frames.read(from_rank.at, frame.data(), frame.size());
    from_rank.at += r.packed;
    shards.write_frame(frame, r.unpacked);
  }
  shards.close();
  report_.bytes_out = shards.bytes_out();
  for (const std::string& n : shards.names()) report_.outputs.emplace_back(n, 0);
}

void DedupRun::emit(const Json* from) {
  if (from) {  // the first rank's word on what was decided, and one's own on how far it came
    const bool own = from->at("phase").as_string() == "write";
    const std::string report = ranks_.from_first(from->at("report").dump());
    read_state(own ? from->at("report") : Json::parse(report), report_);
    if (!own) from = nullptr;
    ++report_.resumed;
  } else {
    if (ranks_.first()) {
      write_file(folder_.file("verdicts"), {reinterpret_cast<const char*>(statuses_.data()), statuses_.size()});
      // Noted before any other rank can: otherwise one killed now would leave them ahead of the first.
      if (!ranks_.alone()) note_frames({}, 0, 0, 0);
    }
    read_state(Json::parse(ranks_.from_first(state_json(report_).dump())), report_);
  }
  if (from || !ranks_.first() || statuses_.empty()) {
    const SpillFile decisions = SpillFile::existing(folder_.of_rank(0) / "verdicts");
    statuses_.resize(decisions.size());
    decisions.read(0, statuses_.data(), statuses_.size());
  }
  stage("write", report_.kept, in_.bytes(), [&](StageReport& s) {
    ranks_.alone() ? emit_shards(from, s) : emit_frames(from, s);
    if (!ranks_.first()) return;
    for (auto& [name, hash] : report_.outputs) hash = file_hash(out_ / name);
    report_.outputs.emplace_back("clusters.jsonl.zst", file_hash(out_ / "clusters.jsonl.zst"));
  });
}

}  // namespace quern::corpus
