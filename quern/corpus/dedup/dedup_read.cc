// First pass: filters every document, computes its signature and writes the spill files; saves its position regularly.
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/run/pipeline.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

struct ReadBlock {
  uint64_t first = 0, bytes = 0;
  std::vector<DocumentRecord> records;  // set_at within the piece
  std::vector<uint8_t> statuses, source_of;
  std::vector<uint64_t> sets;
  std::vector<uint32_t> rows;  // signatures, when they are verified
  std::vector<std::vector<BandRecord>> bands;
  std::vector<BandRecord> exact;
  std::vector<SourceFunnel> sources;
  ReadCounts counts;
  BlockPosition after;
  void clear() {
    records.clear(), statuses.clear(), source_of.clear(), sets.clear(), rows.clear(), exact.clear(), sources.clear();
    for (auto& b : bands) b.clear();
    counts = {};
  }
};

void read_document(const DedupJob& job, const DocumentView& d, DedupWorker& w, ReadBlock& p) {
  const size_t at = d.number - p.first;
  std::string_view text = d.text;
  p.statuses[at] = d.mended ? kKept | kMended : kKept;
  const auto source = static_cast<uint32_t>(job.index.sources.size() + d.source);
  SourceFunnel& funnel = p.sources[source];
  ++funnel.documents, funnel.text_bytes += text.size();
  if (!d.label_passes) {
    if (!job.config.label_late) {
      p.statuses[at] = kFiltered;
      ++funnel.unlabeled;
      return;
    }
    p.statuses[at] |= kUnlabeled;
  }
  if (const int f = job.filters.of_source[d.source]; f >= 0) {
    const size_t rule = job.filters.first_rule[static_cast<size_t>(f)];
    const FilterResult j = w.filters[static_cast<size_t>(f)]->apply_page(text, {.url = d.url, .license = d.license});
    for (uint64_t bits = j.failing; bits; bits &= bits - 1)
      ++funnel.rule_any[rule + static_cast<size_t>(__builtin_ctzll(bits))];
    if (!j.keep()) {
      ++funnel.rule_first[rule + static_cast<size_t>(j.first())];
      ++funnel.filtered;
      p.statuses[at] = kFiltered;
      return;
    }
    text = j.text;
    if (j.changed) p.statuses[at] |= kChanged;
  }
  DocumentRecord& r = p.records[at];
  r.id = job.index.id_behind(d.id), r.source = source, r.score = static_cast<float>(d.score);
  r.length = static_cast<uint32_t>(std::min<size_t>(text.size(), UINT32_MAX));
  const auto number = static_cast<uint32_t>(d.number);
  if (!job.config.near) {
    r.content = content_hash(text);
  } else {
    const Sketch& s = w.sketcher.make(text);
    r.content = s.content;
    r.set_count = static_cast<uint32_t>(s.shingles.size());
    if (job.wants_sets()) {
      r.set_at = p.sets.size();
      p.sets.insert(p.sets.end(), s.shingles.begin(), s.shingles.end());
    }
    if (job.wants_signatures())
      std::copy(s.rows.begin(), s.rows.end(), p.rows.begin() + static_cast<std::ptrdiff_t>(at * s.rows.size()));
    if (!s.shingles.empty() || job.config.collide_empty)
      for (size_t b = 0; b < p.bands.size(); ++b) {
        const auto rows = static_cast<size_t>(job.config.bands.rows);
        p.bands[b].push_back({band_key(s.rows.subspan(b * rows, rows)), number});
      }
  }
  p.exact.push_back({r.content.low, number});
}

// spare: one that was appended, or an empty one, for its room: fresh memory costs a fault a page.
ReadBlock read_block(const DedupJob& job, const Block& block, ReadBlock&& spare) {
  std::unique_ptr<DedupWorker> w = job.borrow_worker();
  ReadBlock p = std::move(spare);
  p.clear();
  p.first = block.first, p.bytes = block.bytes.size(), p.after = block.after;
  p.records.resize(block.rows.size());
  p.statuses.resize(block.rows.size(), kProblem);
  for (const Row& r : block.rows)  // bad rows too: a table of sources has an entry a change
    p.source_of.push_back(static_cast<uint8_t>(job.index.sources.size() + job.inputs.files[r.file].source));
  p.bands.resize(job.band_files());
  p.sources.resize(job.index.sources.size() + job.inputs.sources.size());
  for (SourceFunnel& s : p.sources) s.rule_first.resize(job.filters.rules.size()), s.rule_any = s.rule_first;
  if (job.wants_signatures()) p.rows.resize(block.rows.size() * static_cast<size_t>(job.config.sketch.rows));
  w->reader.read(
      block, p.counts, [&](const DocumentView& d) { read_document(job, d, *w, p); }, [](uint64_t, RecordProblem) {});
  job.give_back(std::move(w));
  return p;
}

void append(ReadBlock& p, Segment& to, ReadPosition& at) {
  const uint64_t base = to.sets.size() / sizeof(uint64_t);
  for (DocumentRecord& r : p.records) r.set_at += base;
  const RecordRange record_range{p.first, p.records.size()};
  to.record_ranges.append(&record_range, sizeof record_range);
  to.records.append(p.records.data(), p.records.size() * sizeof(DocumentRecord));
  to.sets.append(p.sets.data(), p.sets.size() * sizeof(uint64_t));
  to.rows.append(p.rows.data(), p.rows.size() * sizeof(uint32_t));
  to.exact.append(p.exact.data(), p.exact.size() * sizeof(BandRecord));
  for (size_t b = 0; b < to.bands.size(); ++b)
    to.bands[b].append(p.bands[b].data(), p.bands[b].size() * sizeof(BandRecord));
  to.statuses.append(p.statuses.data(), p.statuses.size());
  to.sources.append(p.source_of.data(), p.source_of.size());
  at.report.read.add(p.counts);
  at.example_blocks.resize(at.report.read.examples.size(), p.after.blocks);
  for (size_t s = 0; s < p.sources.size(); ++s) at.report.sources[s].add(p.sources[s]);
  at.position = p.after;
}

// What the ranks counted, together: sums, and the first of the examples.
void add_up(const Ranks& ranks, ReadPosition& at) {
  if (ranks.alone()) return;
  Json mine = Json::object();
  mine.set("read", write_value(at.report.read)), mine.set("sources", write_value(at.report.sources));
  mine.set("blocks", write_value(at.example_blocks));
  std::vector<std::pair<uint64_t, BadRow>> examples;
  std::vector<SourceFunnel> sources;
  ReadCounts read;
  for (const std::string& text : ranks.texts(mine.dump())) {
    const Json j = Json::parse(text);
    ReadCounts r;
    std::vector<uint64_t> blocks;
    std::vector<SourceFunnel> s;
    read_state(j.at("read"), r), read_state(j.at("blocks"), blocks), read_state(j.at("sources"), s);
    for (size_t i = 0; i < blocks.size(); ++i) examples.emplace_back(blocks[i], r.examples[i]);
    r.examples.clear();
    read.add(r);
    sources.resize(s.size());
    for (size_t i = 0; i < s.size(); ++i) sources[i].add(s[i]), sources[i].name = s[i].name;
  }
  std::stable_sort(examples.begin(), examples.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [block, text] : examples) {
    ReadCounts one;
    one.examples.push_back(std::move(text));
    read.add(one);
  }
  at.report.read = std::move(read), at.report.sources = std::move(sources);
}

void save(ReadPosition& at, Segment& written, RunFolder& folder) {
  at.sizes = written.sizes();  // flushed
  Json j = write_value(at);
  j.set("phase", "read");
  folder.save(std::move(j));
}

ReadPosition start(const DedupJob& job, const RunFolder& folder) {
  ReadPosition at;
  if (folder.state().is_null()) {
    at = begin_reading(job);
    at.report.discarded = folder.discarded();
  } else {
    read_state(folder.state(), at);
    ++at.report.resumed;
  }
  return at;
}

}  // namespace

ReadPosition begin_reading(const DedupJob& job) {
  ReadPosition at;
  at.report.indexed = job.index.documents;
  at.report.rules = job.filters.rules, at.report.idle_rules = job.filters.idle;
  for (const std::string& name : job.index.sources) at.report.sources.emplace_back().name = "index:" + name;
  for (const std::string& name : job.inputs.sources) at.report.sources.emplace_back().name = name;
  for (SourceFunnel& f : at.report.sources)
    f.rule_first.resize(job.filters.rules.size()), f.rule_any.resize(job.filters.rules.size());
  return at;
}

void read_blocks(const DedupJob& job, BlockReader& blocks, Segment& own, ReadPosition& at,
                 const std::function<void()>& save) {
  BlockPosition end = at.position;
  uint64_t since = 0;  // bytes of input behind the last checkpoint
  {
    std::mutex spares_lock;
    std::vector<ReadBlock> spares;
    ordered_pipeline<Block, ReadBlock>(
        thread_count(),
        [&](Block& b) {
          while (blocks.next(b)) {
            b.first += job.index.documents;
            if (b.first + b.rows.size() > UINT32_MAX)
              fail("more than 2^32 records in one process: plan the build as tasks, with more of them");
            if (job.mine(b)) return true;
          }
          end = b.after;
          return false;
        },
        [&](const Block& b) {
          ReadBlock spare;
          if (std::lock_guard lock(spares_lock); !spares.empty()) spare = std::move(spares.back()), spares.pop_back();
          return read_block(job, b, std::move(spare));
        },
        [&](ReadBlock&& p) {
          append(p, own, at);
          if ((since += p.bytes) >= job.config.checkpoint_bytes) save(), since = 0;
          job.report_progress("read", p.after.packed, at.report.read.documents);
          std::lock_guard lock(spares_lock);
          spares.push_back(std::move(p));
        });
  }
  release_free_memory(end.next);
  at.position = end;
  save();
  at.report.spilled = own.bytes();
}

namespace {

// Every rank's segment, opened to be read by all; statuses and sources into memory.
Documents gather(const DedupJob& job, const RunFolder& folder, ReadPosition&& at) {
  Documents all;
  all.report = std::move(at.report);
  all.report.spilled = job.ranks.sum(all.report.spilled);
  job.ranks.barrier();
  if (!job.config.against.empty()) all.segments.add(Segment::look(job.config.against, job.band_files()));
  for (int r = 0; r < job.ranks.size(); ++r) all.segments.add(Segment::look(folder.of_rank(r), job.band_files()));
  all.segments.arrange();
  if (const uint64_t rows = job.index.documents + at.position.next; all.segments.rows() != rows)
    fail("{} records were read but {} are on disk: did an input or the index change?", rows, all.segments.rows());
  all.segments.statuses(all.statuses);
  all.sources = all.segments.sources();
  all.survivor.resize(all.statuses.size());
  for (size_t i = 0; i < all.survivor.size(); ++i) all.survivor[i] = static_cast<uint32_t>(i);
  return all;
}

}  // namespace

void count_filtered(DedupReport& r) {
  r.rule_first.assign(r.rules.size(), 0), r.rule_any = r.rule_first;
  for (const SourceFunnel& f : r.sources) {
    r.filtered += f.filtered + f.unlabeled, r.unlabeled += f.unlabeled;
    for (size_t i = 0; i < r.rules.size(); ++i) r.rule_first[i] += f.rule_first[i], r.rule_any[i] += f.rule_any[i];
  }
}

Documents read_documents(const DedupJob& job, RunFolder& folder) {
  Documents all;
  std::vector<StageReport> stages;
  timed_stage(stages, {.name = "read"}, [&](StageReport& s) {
    ReadPosition at = start(job, folder);
    BlockReader blocks(job.inputs, job.config.read, job.config.block_bytes);
    if (!at.sizes.is_null()) blocks.seek(at.position);
    Segment own = Segment::open(folder.folder(), job.band_files(), at.sizes.is_null() ? nullptr : &at.sizes);
    read_blocks(job, blocks, own, at, [&] { save(at, own, folder); });
    at.report.damaged = blocks.damaged();
    add_up(job.ranks, at);
    refuse_when_all_is_lost(job.inputs, at.report.read, at.report.damaged);
    all = gather(job, folder, std::move(at));
    count_filtered(all.report);
    s.documents_in = all.report.read.documents, s.documents_out = all.report.read.documents - all.report.filtered;
    s.bytes_in = all.report.read.text_bytes;
  });
  all.report.stages = std::move(stages);
  return all;
}

}  // namespace quern::corpus
