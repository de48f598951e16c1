// The first reading: every document judged, sketched and put into the spill files; the position noted now and then.
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup_run.h"
#include "quern/corpus/pipeline.h"
#include "quern/corpus/run_state.h"

namespace quern::corpus {

struct DedupRun::Piece {
  uint64_t first = 0, bytes = 0;
  std::vector<DocumentRecord> records;
  std::vector<uint8_t> fates, source_of;
  std::vector<uint64_t> sets;
  std::vector<uint32_t> rows;  // signatures, when they are verified
  std::vector<std::vector<BandRecord>> bands;
  std::vector<BandRecord> exact;
  std::vector<SourceFunnel> sources;
  ReadCounts counts;
  BlockPosition after;
};

void DedupRun::look_at(const DocumentView& d, DedupWorker& w, Piece& p) {
  const size_t at = d.number - p.first;
  std::string_view text = d.text;
  p.fates[at] = kKept;
  p.source_of[at] = static_cast<uint8_t>(d.source);
  SourceFunnel& funnel = p.sources[d.source];
  ++funnel.documents, funnel.text_bytes += text.size();
  if (!d.label_passes) {
    if (!c_.label_late) {
      p.fates[at] = kFiltered;
      ++funnel.unlabelled;
      return;
    }
    p.fates[at] |= kUnlabelled;
  }
  if (const int f = filters_.of_source[d.source]; f >= 0) {
    const size_t rule = filters_.first_rule[static_cast<size_t>(f)];
    const Judgement j = w.filters[static_cast<size_t>(f)]->judge_page(text, d.url);
    for (uint64_t bits = j.failing; bits; bits &= bits - 1)
      ++funnel.rule_any[rule + static_cast<size_t>(__builtin_ctzll(bits))];
    if (!j.keep()) {
      ++funnel.rule_first[rule + static_cast<size_t>(j.first())];
      ++funnel.filtered;
      p.fates[at] = kFiltered;
      return;
    }
    text = j.text;
    if (j.changed) p.fates[at] |= kChanged;
  }
  DocumentRecord& r = p.records[at];
  r.id = d.id, r.source = d.source, r.score = static_cast<float>(d.score);
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

DedupRun::Piece DedupRun::first_look(Block&& block) {
  std::unique_ptr<DedupWorker> w = borrow();
  Piece p;
  p.first = block.first, p.bytes = block.bytes.size(), p.after = std::move(block.after);
  p.records.resize(block.rows.size());
  p.fates.resize(block.rows.size(), kProblem);
  p.source_of.resize(block.rows.size());
  p.bands.resize(bands_.size());
  p.sources.resize(in_.sources.size());
  for (SourceFunnel& s : p.sources) s.rule_first.resize(filters_.rules.size()), s.rule_any = s.rule_first;
  if (c_.near && c_.verify == Verification::signature)
    p.rows.resize(block.rows.size() * static_cast<size_t>(c_.sketch.rows));
  w->reader.read(
      block, p.counts, [&](const DocumentView& d) { look_at(d, *w, p); }, [](uint64_t, RowProblem) {});
  give_back(std::move(w));
  return p;
}

void DedupRun::keep(Piece&& p) {
  const uint64_t base = sets_.size() / sizeof(uint64_t);
  for (DocumentRecord& r : p.records) r.set_at += base;
  records_.append(p.records.data(), p.records.size() * sizeof(DocumentRecord));
  sets_.append(p.sets.data(), p.sets.size() * sizeof(uint64_t));
  rows_.append(p.rows.data(), p.rows.size() * sizeof(uint32_t));
  exact_.append(p.exact.data(), p.exact.size() * sizeof(BandRecord));
  for (size_t b = 0; b < bands_.size(); ++b)
    bands_[b].append(p.bands[b].data(), p.bands[b].size() * sizeof(BandRecord));
  fate_file_.append(p.fates.data(), p.fates.size());
  source_file_.append(p.source_of.data(), p.source_of.size());
  fates_.insert(fates_.end(), p.fates.begin(), p.fates.end());
  source_of_.insert(source_of_.end(), p.source_of.begin(), p.source_of.end());
  report_.read.add(p.counts);
  for (size_t s = 0; s < p.sources.size(); ++s) report_.sources[s].add(p.sources[s]);
  noted_ += p.bytes;
  if (noted_ >= c_.checkpoint_bytes) note_reading(p.after);
}

void DedupRun::note_reading(const BlockPosition& at) {
  Json j = Json::object(), sizes = Json::object(), bands = Json::array();
  const auto size = [&](const char* name, SpillFile& f) {
    f.flush();
    sizes.set(name, static_cast<int64_t>(f.size()));
  };
  size("records", records_), size("sets", sets_), size("rows", rows_), size("exact", exact_);
  size("fates", fate_file_), size("sources", source_file_);
  for (SpillFile& b : bands_) {
    b.flush();
    bands.push(Json(static_cast<int64_t>(b.size())));
  }
  sizes.set("bands", std::move(bands));
  j.set("phase", "read"), j.set("position", state_json(at)), j.set("sizes", std::move(sizes));
  j.set("report", state_json(report_));
  folder_.save(std::move(j));
  noted_ = 0;
}

void DedupRun::open_spills(const Json* sizes) {
  const auto open = [&](const char* name) {
    return folder_.spill(name, sizes ? static_cast<uint64_t>(sizes->at(name).as_int(name)) : 0);
  };
  records_ = open("records"), sets_ = open("sets"), rows_ = open("rows"), exact_ = open("exact");
  fate_file_ = open("fates"), source_file_ = open("sources");
  bands_.clear();
  for (size_t b = 0; c_.near && b < static_cast<size_t>(c_.bands.bands); ++b)
    bands_.push_back(folder_.spill(fmt::format("band-{:03}", b),
                                   sizes ? static_cast<uint64_t>(sizes->at("bands").as_array()[b].as_int()) : 0));
  fates_.resize(fate_file_.size()), source_of_.resize(source_file_.size());
  fate_file_.read(0, fates_.data(), fates_.size());
  source_file_.read(0, source_of_.data(), source_of_.size());
}

void DedupRun::read(const Json* from) {
  stage("read", 0, in_.bytes(), [&](StageReport& s) {
    BlockReader blocks(in_, c_.read, c_.block_bytes);
    report_.rules = filters_.rules;
    report_.sources.resize(in_.sources.size());
    for (size_t i = 0; i < in_.sources.size(); ++i) {
      report_.sources[i].name = in_.sources[i];
      report_.sources[i].rule_first.resize(filters_.rules.size());
      report_.sources[i].rule_any.resize(filters_.rules.size());
    }
    BlockPosition at;
    if (from) {
      read_state(from->at("report"), report_);
      read_state(from->at("position"), at);
      ++report_.resumed;
      blocks.seek(at);
    }
    open_spills(from ? &from->at("sizes") : nullptr);
    ordered_pipeline<Block, Piece>(
        thread_count(),
        [&](Block& b) {
          if (!blocks.next(b)) return false;
          if (b.first + b.rows.size() > UINT32_MAX) fail("more than 2^32 rows in one run");
          return true;
        },
        [&](Block&& b) { return first_look(std::move(b)); },
        [&](Piece&& p) {
          at = p.after;
          keep(std::move(p));
          tell("read", at.packed, in_.bytes(), report_.read.documents);
        });
    note_reading(at);
    report_.damaged = blocks.damaged();
    report_.spilled = records_.size() + sets_.size() + rows_.size() + exact_.size();
    for (const SpillFile& b : bands_) report_.spilled += b.size();
    survivor_.resize(fates_.size());
    for (size_t i = 0; i < survivor_.size(); ++i) survivor_[i] = static_cast<uint32_t>(i);
    report_.rule_first.assign(filters_.rules.size(), 0), report_.rule_any = report_.rule_first;
    for (const SourceFunnel& f : report_.sources) {
      report_.filtered += f.filtered + f.unlabelled, report_.unlabelled += f.unlabelled;
      for (size_t i = 0; i < filters_.rules.size(); ++i)
        report_.rule_first[i] += f.rule_first[i], report_.rule_any[i] += f.rule_any[i];
    }
    s.documents_in = report_.read.documents, s.documents_out = report_.read.documents - report_.filtered;
    s.bytes_in = report_.read.text_bytes;
  });
}

}  // namespace quern::corpus
