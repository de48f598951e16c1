// First pass: filters every document, computes its signature and writes the spill files; saves its position regularly.
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/dedup_run.h"
#include "quern/corpus/run/pipeline.h"
#include "quern/corpus/run/run_state.h"

namespace quern::corpus {

struct DedupRun::Piece {
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

void DedupRun::look_at(const DocumentView& d, DedupWorker& w, Piece& p) {
  const size_t at = d.number - p.first;
  std::string_view text = d.text;
  p.statuses[at] = kKept;
  const auto source = static_cast<uint32_t>(index_.sources.size() + d.source);
  SourceFunnel& funnel = p.sources[source];
  ++funnel.documents, funnel.text_bytes += text.size();
  if (!d.label_passes) {
    if (!c_.label_late) {
      p.statuses[at] = kFiltered;
      ++funnel.unlabeled;
      return;
    }
    p.statuses[at] |= kUnlabeled;
  }
  if (const int f = filters_.of_source[d.source]; f >= 0) {
    const size_t rule = filters_.first_rule[static_cast<size_t>(f)];
    const FilterResult j = w.filters[static_cast<size_t>(f)]->apply_page(text, d.url);
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
  r.id = index_.id_behind(d.id), r.source = source, r.score = static_cast<float>(d.score);
  r.length = static_cast<uint32_t>(std::min<size_t>(text.size(), UINT32_MAX));
  const auto number = static_cast<uint32_t>(d.number);
  if (!c_.near) {
    r.content = content_hash(text);
  } else {
    const Sketch& s = w.sketcher.make(text);
    r.content = s.content;
    r.set_count = static_cast<uint32_t>(s.shingles.size());
    if (wants_sets()) {
      r.set_at = p.sets.size();
      p.sets.insert(p.sets.end(), s.shingles.begin(), s.shingles.end());
    }
    if (c_.verify == Verification::signature)
      std::copy(s.rows.begin(), s.rows.end(), p.rows.begin() + static_cast<std::ptrdiff_t>(at * s.rows.size()));
    if (!s.shingles.empty() || c_.collide_empty)
      for (size_t b = 0; b < p.bands.size(); ++b) {
        const auto rows = static_cast<size_t>(c_.bands.rows);
        p.bands[b].push_back({band_key(s.rows.subspan(b * rows, rows)), number});
      }
  }
  p.exact.push_back({r.content.low, number});
}

// spare: one that was kept, or an empty one, for its room: fresh memory costs a fault a page.
DedupRun::Piece DedupRun::first_look(const Block& block, Piece&& spare) {
  std::unique_ptr<DedupWorker> w = borrow();
  Piece p = std::move(spare);
  p.clear();
  p.first = block.first, p.bytes = block.bytes.size(), p.after = block.after;
  p.records.resize(block.rows.size());
  p.statuses.resize(block.rows.size(), kProblem);
  for (const Row& r : block.rows)  // bad rows too: a table of sources has an entry a change
    p.source_of.push_back(static_cast<uint8_t>(index_.sources.size() + in_.files[r.file].source));
  p.bands.resize(band_files());
  p.sources.resize(report_.sources.size());
  for (SourceFunnel& s : p.sources) s.rule_first.resize(filters_.rules.size()), s.rule_any = s.rule_first;
  if (c_.near && c_.verify == Verification::signature)
    p.rows.resize(block.rows.size() * static_cast<size_t>(c_.sketch.rows));
  w->reader.read(
      block, p.counts, [&](const DocumentView& d) { look_at(d, *w, p); }, [](uint64_t, RecordProblem) {});
  give_back(std::move(w));
  return p;
}

void DedupRun::keep(Piece& p) {
  const uint64_t base = own_.sets.size() / sizeof(uint64_t);
  for (DocumentRecord& r : p.records) r.set_at += base;
  const RecordRange record_range{p.first, p.records.size()};
  own_.record_ranges.append(&record_range, sizeof record_range);
  own_.records.append(p.records.data(), p.records.size() * sizeof(DocumentRecord));
  own_.sets.append(p.sets.data(), p.sets.size() * sizeof(uint64_t));
  own_.rows.append(p.rows.data(), p.rows.size() * sizeof(uint32_t));
  own_.exact.append(p.exact.data(), p.exact.size() * sizeof(BandRecord));
  for (size_t b = 0; b < own_.bands.size(); ++b)
    own_.bands[b].append(p.bands[b].data(), p.bands[b].size() * sizeof(BandRecord));
  own_.statuses.append(p.statuses.data(), p.statuses.size());
  own_.sources.append(p.source_of.data(), p.source_of.size());
  report_.read.add(p.counts);
  example_blocks_.resize(report_.read.examples.size(), p.after.blocks);
  for (size_t s = 0; s < p.sources.size(); ++s) report_.sources[s].add(p.sources[s]);
  noted_ += p.bytes;
  if (noted_ >= c_.checkpoint_bytes) note_reading(p.after);
}

void DedupRun::note_reading(const BlockPosition& at) {
  Json j = Json::object();
  j.set("phase", "read"), j.set("position", state_json(at)), j.set("sizes", own_.sizes());
  j.set("report", state_json(report_)), j.set("example_blocks", state_json(example_blocks_));
  folder_.save(std::move(j));
  noted_ = 0;
}

// What the ranks counted, together: sums, and the first of the examples.
void DedupRun::add_up_readings() {
  if (ranks_.alone()) return;
  Json mine = Json::object();
  mine.set("read", state_json(report_.read)), mine.set("sources", state_json(report_.sources));
  mine.set("blocks", state_json(example_blocks_));
  std::vector<std::pair<uint64_t, std::string>> examples;
  std::vector<SourceFunnel> sources;
  ReadCounts read;
  for (const std::string& text : ranks_.texts(mine.dump())) {
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
  report_.read = std::move(read), report_.sources = std::move(sources);
}

// Every rank's segment, opened to be read by all; fates and sources into memory.
void DedupRun::gather_rows(uint64_t rows) {
  report_.spilled = ranks_.sum(own_.bytes());
  own_ = Segment();
  ranks_.barrier();
  if (!c_.against.empty()) rows_.add(Segment::look(c_.against, band_files()));
  for (int r = 0; r < ranks_.size(); ++r) rows_.add(Segment::look(folder_.of_rank(r), band_files()));
  rows_.arrange();
  if (rows_.rows() != index_.documents + rows)
    fail("{} records were read but {} are on disk: did an input or the index change?", index_.documents + rows,
         rows_.rows());
  rows_.statuses(statuses_);
  sources_ = rows_.sources();
  survivor_.resize(statuses_.size());
  for (size_t i = 0; i < survivor_.size(); ++i) survivor_[i] = static_cast<uint32_t>(i);
}

void DedupRun::read(const Json* from) {
  stage("read", 0, in_.bytes(), [&](StageReport& s) {
    BlockReader blocks(in_, c_.read, c_.block_bytes);
    report_.rules = filters_.rules;
    for (const std::string& name : index_.sources) report_.sources.emplace_back().name = "index:" + name;
    for (const std::string& name : in_.sources) report_.sources.emplace_back().name = name;
    for (SourceFunnel& f : report_.sources)
      f.rule_first.resize(filters_.rules.size()), f.rule_any.resize(filters_.rules.size());
    BlockPosition end;
    if (from) {
      read_state(from->at("report"), report_), read_state(from->at("example_blocks"), example_blocks_);
      read_state(from->at("position"), end);
      ++report_.resumed;
      blocks.seek(end);
    }
    own_ = Segment::open(folder_.folder(), band_files(), from ? &from->at("sizes") : nullptr);
    {
      std::mutex spares_lock;
      std::vector<Piece> spares;
      ordered_pipeline<Block, Piece>(
          thread_count(),
          [&](Block& b) {
            while (blocks.next(b)) {
              b.first += index_.documents;
              if (b.first + b.rows.size() > UINT32_MAX) fail("more than 2^32 records in one run: split the inputs");
              if (mine(b)) return true;
            }
            end = b.after;
            return false;
          },
          [&](const Block& b) {
            Piece spare;
            if (std::lock_guard lock(spares_lock); !spares.empty())
              spare = std::move(spares.back()), spares.pop_back();
            return first_look(b, std::move(spare));
          },
          [&](Piece&& p) {
            keep(p);
            report_progress("read", p.after.packed, in_.bytes(), report_.read.documents);
            std::lock_guard lock(spares_lock);
            spares.push_back(std::move(p));
          });
    }
    give_memory_back(end.next);
    note_reading(end);
    report_.damaged = blocks.damaged();
    add_up_readings();
    gather_rows(end.next);
    report_.rule_first.assign(filters_.rules.size(), 0), report_.rule_any = report_.rule_first;
    for (const SourceFunnel& f : report_.sources) {
      report_.filtered += f.filtered + f.unlabeled, report_.unlabeled += f.unlabeled;
      for (size_t i = 0; i < filters_.rules.size(); ++i)
        report_.rule_first[i] += f.rule_first[i], report_.rule_any[i] += f.rule_any[i];
    }
    s.documents_in = report_.read.documents, s.documents_out = report_.read.documents - report_.filtered;
    s.bytes_in = report_.read.text_bytes;
  });
}

}  // namespace quern::corpus
