// Second pass: writes the lines of kept documents to shards, collects texts for the report's samples, saves its
// position regularly. Each rank compresses frames into files of its own, which the first rank concatenates.
#include <functional>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/run/pipeline.h"
#include "quern/corpus/run/run_folder.h"
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

struct RewrittenBlock {
  std::string frame;
  uint64_t unpacked = 0, documents = 0, bytes = 0, own_members = 0;
  BlockPosition after;
  std::vector<std::pair<uint64_t, std::string>> samples;
};

SampleDocument* find_sample(std::vector<ClusterSample>& samples, uint64_t number) {
  for (ClusterSample& c : samples) {
    if (c.survivor.number == number) return &c.survivor;
    for (SampleDocument& d : c.removed)
      if (d.number == number) return &d;
  }
  return nullptr;
}

RewrittenBlock copy_kept(const DedupJob& job, const Block& block, std::span<const uint8_t> statuses,
                         std::vector<ClusterSample>& samples) {
  std::unique_ptr<DedupWorker> w;
  RewrittenBlock part;
  std::string lines;
  ReadCounts ignored;
  part.bytes = block.bytes.size(), part.after = block.after;
  const auto read_one = [&](size_t i, auto&& f) {
    if (!w) w = job.borrow_worker();
    Block one;
    one.first = block.first + i;
    one.rows = {block.rows[i]};
    one.bytes.append(block.head(block.rows[i]));
    one.rows[0].begin = one.bytes.size();
    one.bytes.append(block.text(block.rows[i]));
    one.rows[0].end = one.bytes.size();
    w->reader.read(one, ignored, f, [](uint64_t, RecordProblem) {});
  };
  const std::string source_field = job.source_field();
  const auto end_line = [&](size_t from, const Row& row) {
    const InputFile& file = job.inputs.files[row.file];
    bool other = false;
    if (!source_field.empty())
      other = add_source(source_field, job.inputs.sources[file.source], from, lines) == AddedMember::other;
    if (const std::string& name = job.config.cluster_field; !name.empty()) {
      const uint64_t id = job.index.id_behind(document_id(file.source, row.file, row.row));
      other |= add_member(name, std::to_string(id), from, lines) == AddedMember::other;
    }
    part.own_members += other;
  };
  for (size_t i = 0; i < block.rows.size(); ++i) {
    const size_t from = lines.size();
    if (find_sample(samples, block.first + i))
      read_one(i,
               [&](const DocumentView& d) { part.samples.emplace_back(d.number, std::string(beginning(d.text))); });
    const uint8_t status = statuses[i];
    if (status_of(status) != kKept || (status & kUnlabeled)) continue;
    const Row& row = block.rows[i];
    ++part.documents;
    if (is_lines(job.inputs.files[row.file].form) && !(status & (kChanged | kMended)) &&
        !job.config.read.replace_utf8) {
      lines += block.text(row);
      lines += '\n';
      end_line(from, row);
      continue;
    }
    read_one(i, [&](const DocumentView& d) {
      DocumentFilter* f =
          status & kChanged ? w->filters[static_cast<size_t>(job.filters.of_source[d.source])].get() : nullptr;
      DocumentView own = d;
      own.id = job.index.id_behind(d.id);
      append_document(own, f ? f->apply_page(d.text, {.url = d.url, .license = d.license}).text : d.text, lines);
    });
    end_line(from, row);
  }
  if (w) job.give_back(std::move(w));
  part.unpacked = lines.size();
  if (!lines.empty()) zstd_frame(lines, job.config.level, part.frame);
  return part;
}

// What was written so far, flushed, for a later process.
using AddPosition = std::function<void(Json&)>;

void save(const WritePosition& at, const AddPosition& add_position, RunFolder& folder) {
  Json j = write_value(at);
  j.set("phase", "write");
  add_position(j);
  folder.save(std::move(j));
}

}  // namespace

void write_blocks(const DedupJob& job, const DedupDecisions& decisions, const FrameSink& sink, WritePosition& at) {
  BlockReader blocks(job.inputs, job.config.read, job.config.block_bytes);
  blocks.want_hashes();
  blocks.seek(at.position);
  sink.save();
  BlockPosition end = at.position;
  uint64_t since = 0;  // bytes of input behind the last checkpoint
  const std::span<const uint8_t> statuses = decisions.statuses;
  std::vector<ClusterSample>& samples = at.report.samples;
  ordered_pipeline<Block, RewrittenBlock>(
      thread_count(),
      [&](Block& b) {
        while (blocks.next(b)) {
          b.first += job.index.documents;
          if (b.first + b.rows.size() > decisions.first + statuses.size())
            fail("an input grew between the two passes: do not write to inputs during a run");
          if (job.mine(b)) return true;
        }
        end = b.after;
        return false;
      },
      [&](const Block& b) {
        return copy_kept(job, b, statuses.subspan(b.first - decisions.first, b.rows.size()), samples);
      },
      [&](RewrittenBlock&& p) {
        sink.put({.block = p.after.blocks - 1, .bytes = p.frame, .unpacked = p.unpacked});
        at.written += p.documents, at.position = p.after, at.report.own_members += p.own_members;
        for (auto& [number, text] : p.samples) find_sample(samples, number)->text = std::move(text);
        if ((since += p.bytes) >= job.config.checkpoint_bytes) sink.save(), since = 0;
        job.report_progress("write", p.after.packed, at.written);
      });
  for (size_t f = 0; f < job.inputs.files.size(); ++f) at.report.input_hashes.push_back(blocks.hash(f));
  if (job.index.documents + end.next != decisions.first + statuses.size())
    fail("an input shrank between the two passes: do not write to inputs during a run");
  at.position = end;
  sink.save();
}

namespace {

void list_outputs(const ShardWriter& shards, DedupReport& report) {
  report.bytes_out = shards.bytes_out();
  for (const std::string& n : shards.names()) report.outputs.emplace_back(n, 0);
}

// One rank: the frames are the shards. from: the state of an earlier process, or null.
void write_shards(const DedupJob& job, RunFolder& folder, const DedupDecisions& decisions, const Json* from,
                  WritePosition& at) {
  ShardPosition shard;
  if (from) read_state(from->at("shard"), shard);
  ShardWriter shards(job.out, "part", job.config.level, job.config.shard_bytes, shard);
  const AddPosition position = [&](Json& j) { j.set("shard", write_value(shards.position())); };
  write_blocks(job, decisions,
               {.put = [&](const WrittenFrame& f) { shards.write_frame(f.bytes, f.unpacked); },
                .save = [&] { save(at, position, folder); }},
               at);
  shards.close();
  list_outputs(shards, at.report);
}

void add_frame_sizes(Json& j, uint64_t frames, uint64_t table) {
  j.set("frames", write_value(frames)), j.set("table", write_value(table));
}

void write_frames(const DedupJob& job, RunFolder& folder, const DedupDecisions& decisions, const Json* from,
                  WritePosition& at) {
  uint64_t frame_bytes = 0, table_bytes = 0;
  if (from) read_state(from->at("frames"), frame_bytes), read_state(from->at("table"), table_bytes);
  FrameFiles files{SpillFile::named(folder.file("frames"), frame_bytes),
                   SpillFile::named(folder.file("frame-table"), table_bytes)};
  const AddPosition position = [&](Json& j) {
    files.frames.flush(), files.table.flush();
    add_frame_sizes(j, files.frames.size(), files.table.size());
  };
  write_blocks(job, decisions,
               {.put = [&](const WrittenFrame& f) { files.put(f); }, .save = [&] { save(at, position, folder); }},
               at);
}

// The texts that other ranks collected.
void gather_samples(const Ranks& ranks, std::vector<ClusterSample>& samples) {
  const std::vector<std::string> found = ranks.texts(write_value(samples).dump());
  if (!ranks.first()) return;
  for (const std::string& text : found) {
    std::vector<ClusterSample> theirs;
    read_state(Json::parse(text), theirs);
    for (ClusterSample& c : theirs) {
      if (!c.survivor.text.empty()) find_sample(samples, c.survivor.number)->text = std::move(c.survivor.text);
      for (SampleDocument& d : c.removed)
        if (!d.text.empty()) find_sample(samples, d.number)->text = std::move(d.text);
    }
  }
}

// The frames of all ranks, in the order of their blocks.
void concatenate_frames(const DedupJob& job, const RunFolder& folder, DedupReport& report) {
  struct Stream {
    SpillFile frames, table;
    uint64_t at = 0, next = 0;
  };
  std::vector<Stream> streams;
  uint64_t blocks = 0;
  for (int r = 0; r < job.ranks.size(); ++r) {
    streams.push_back({SpillFile::existing(folder.of_rank(r) / "frames"),
                       SpillFile::existing(folder.of_rank(r) / "frame-table"), 0, 0});
    blocks += streams.back().table.size() / sizeof(FrameRecord);
  }
  ShardWriter shards(job.out, "part", job.config.level, job.config.shard_bytes);
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
  list_outputs(shards, report);
}

std::vector<uint8_t> read_decisions(const RunFolder& folder) {
  const SpillFile file = SpillFile::existing(folder.of_rank(0) / "verdicts");
  std::vector<uint8_t> statuses(file.size());
  file.read(0, statuses.data(), statuses.size());
  return statuses;
}

}  // namespace

DedupDecisions share_decisions(const DedupJob& job, RunFolder& folder, DedupDecisions d) {
  if (job.ranks.first()) {
    write_file(folder.file("verdicts"), {reinterpret_cast<const char*>(d.statuses.data()), d.statuses.size()});
    // Saved before any other rank can: otherwise one killed now would leave them ahead of the first.
    if (!job.ranks.alone()) {
      WritePosition begin;
      begin.report = std::move(d.report);
      save(
          begin, [](Json& j) { add_frame_sizes(j, 0, 0); }, folder);
      d.report = std::move(begin.report);
    }
  }
  read_state(Json::parse(job.ranks.from_first(write_value(d.report).dump())), d.report);
  if (!job.ranks.first()) d.statuses = read_decisions(folder);
  return d;
}

DedupDecisions saved_decisions(const DedupJob& job, const RunFolder& folder) {
  DedupDecisions d;
  // The first rank's word on what was decided, and this one's own on what it has written.
  const std::string report = job.ranks.from_first(folder.state().at("report").dump());
  read_state(folder.phase() == "write" ? folder.state().at("report") : Json::parse(report), d.report);
  ++d.report.resumed;
  d.statuses = read_decisions(folder);
  return d;
}

DedupReport write_kept(const DedupJob& job, RunFolder& folder, DedupDecisions decisions) {
  const Json* from = folder.phase() == "write" ? &folder.state() : nullptr;
  WritePosition at;
  if (from) read_state(from->at("position"), at.position), read_state(from->at("written"), at.written);
  at.report = std::move(decisions.report);
  std::vector<StageReport> stages = at.report.stages;
  timed_stage(stages, {.name = "write", .documents_in = at.report.kept}, [&](StageReport& s) {
    s.bytes_in = job.inputs.bytes();
    if (job.ranks.alone()) {
      write_shards(job, folder, decisions, from, at);
    } else {
      write_frames(job, folder, decisions, from, at);
      gather_samples(job.ranks, at.report.samples);
      if (job.ranks.first()) concatenate_frames(job, folder, at.report);
    }
    s.documents_out = job.ranks.sum(at.written);
    at.report.own_members = job.ranks.sum(at.report.own_members);
    if (!job.ranks.first()) return;
    for (auto& [name, hash] : at.report.outputs) hash = file_hash(job.out / name);
    at.report.outputs.emplace_back("clusters.jsonl.zst", file_hash(job.out / "clusters.jsonl.zst"));
  });
  at.report.stages = std::move(stages);
  return std::move(at.report);
}

}  // namespace quern::corpus
