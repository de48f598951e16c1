#include "quern/corpus/dedup.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/filters.h"
#include "quern/corpus/hashing.h"
#include "quern/corpus/pipeline.h"
#include "quern/corpus/shards.h"
#include "quern/corpus/similarity.h"
#include "quern/corpus/spill.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

enum Fate : uint8_t { kProblem, kFiltered, kKept, kExactCopy, kNearCopy, kShadow };
constexpr uint8_t kChanged = 0x80;     // the filter changed the text
constexpr uint8_t kUnlabelled = 0x40;  // its label keeps it out, but only once survivors are chosen
constexpr uint8_t kMarks = kChanged | kUnlabelled;

// What the first reading leaves of a row.
struct DocumentRecord {
  uint64_t id = 0;
  ContentHash content;
  uint64_t set_at = 0;  // its shingles in the sets file, in hashes
  uint32_t set_count = 0, length = 0;
  float score = 0;
  uint32_t source = 0;
};
static_assert(sizeof(DocumentRecord) == 48);

// The survivor order: source, score, length, then the content itself, so that the same documents win wherever they
// lie.
bool better(const DocumentRecord& a, const DocumentRecord& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.score != b.score) return a.score > b.score;
  if (a.length != b.length) return a.length > b.length;
  if (a.content != b.content) return a.content < b.content;
  return a.id < b.id;
}

struct Piece {  // of the first reading: one block
  uint64_t first = 0;
  std::vector<DocumentRecord> records;
  std::vector<uint8_t> fates;
  std::vector<uint64_t> sets;
  std::vector<uint32_t> rows;  // signatures, when they are verified
  std::vector<std::vector<BandRecord>> bands;
  std::vector<BandRecord> exact;
  std::vector<uint64_t> rule_first, rule_any;
  ReadCounts counts;
  uint64_t unlabelled = 0;
};

struct Part {  // of the second reading
  std::string frame;
  uint64_t unpacked = 0, documents = 0;
};

// The filters of the sources: each named filter once, its rules behind those of the filters before it.
struct FilterTable {
  std::vector<std::string> names, rules;
  std::vector<FilterMaker> makers;
  std::vector<size_t> first_rule;  // of each named filter
  std::vector<int> of_source;      // −1: none
};

class Worker {
 public:
  Worker(const Inputs& inputs, const DedupConfig& c, const FilterTable& table)
      : reader(inputs, c.fields, c.read), sketcher(c.sketch) {
    for (const FilterMaker& make : table.makers) filters.push_back(make());
  }
  DocumentReader reader;
  SketchMaker sketcher;
  std::vector<std::unique_ptr<DocumentFilter>> filters;
};

class Dedup {
 public:
  Dedup(const Inputs& inputs, const DedupConfig& config, const fs::path& out,
        const std::function<void(const DedupProgress&)>& progress)
      : in_(inputs), c_(config), out_(out), progress_(progress) {
    std::vector<std::string> names = config.filters;
    if (names.size() == 1) names.resize(inputs.sources.size(), std::string(names[0]));
    QUERN_CHECK(names.size() == inputs.sources.size(), "{} filters for {} sources", names.size(),
                inputs.sources.size());
    for (const std::string& n : names) {
      const auto known = std::find(filters_.names.begin(), filters_.names.end(), n);
      filters_.of_source.push_back(n == "none" ? -1 : static_cast<int>(known - filters_.names.begin()));
      if (n == "none" || known != filters_.names.end()) continue;
      const FilterMaker make = find_filter(n, config.lists);
      filters_.names.push_back(n), filters_.makers.push_back(make);
      filters_.first_rule.push_back(filters_.rules.size());
      for (const char* rule : make()->rules()) filters_.rules.emplace_back(rule);
    }
  }

  DedupReport run() {
    if (c_.near && c_.bands.bands * c_.bands.rows > c_.sketch.rows)
      fail("{} bands of {} rows want {} rows, the sketch has {}", c_.bands.bands, c_.bands.rows,
           c_.bands.bands * c_.bands.rows, c_.sketch.rows);
    if (!(c_.threshold >= 0 && c_.threshold <= 1)) fail("threshold {}: expected a number from 0 to 1", c_.threshold);
    prepare_output(out_);
    bands_.clear();
    for (int b = 0; c_.near && b < c_.bands.bands; ++b) bands_.emplace_back(out_);
    exact_ = SpillFile(out_), records_ = SpillFile(out_), sets_ = SpillFile(out_), rows_ = SpillFile(out_);
    read();
    copies();
    if (c_.near) neighbours();
    settle();
    clusters();
    emit();
    return std::move(report_);
  }

 private:
  template <class F>
  void stage(const char* name, uint64_t documents, uint64_t bytes, F&& body) {
    const auto begin = std::chrono::steady_clock::now();
    StageReport s{name, documents, 0, bytes, 0, 0};
    body(s);
    s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    s.peak_rss = static_cast<uint64_t>(usage.ru_maxrss) << 10;
    report_.stages.push_back(std::move(s));
  }
  void tell(const char* stage, uint64_t bytes, uint64_t total, uint64_t documents) {
    if (progress_) progress_({stage, bytes, total, documents});
  }

  std::unique_ptr<Worker> borrow() {
    std::lock_guard lock(workers_lock_);
    if (workers_.empty()) return std::make_unique<Worker>(in_, c_, filters_);
    std::unique_ptr<Worker> w = std::move(workers_.back());
    workers_.pop_back();
    return w;
  }
  void give_back(std::unique_ptr<Worker> w) {
    std::lock_guard lock(workers_lock_);
    workers_.push_back(std::move(w));
  }

  bool wants_sets() const {
    return c_.near && (c_.verify == Verification::exact || c_.verify == Verification::containment);
  }

  void look_at(const DocumentView& d, Worker& w, Piece& p) {
    const size_t at = d.number - p.first;
    std::string_view text = d.text;
    p.fates[at] = kKept;
    if (!d.label_passes) {
      if (!c_.label_late) {
        p.fates[at] = kFiltered;
        ++p.unlabelled;
        return;
      }
      p.fates[at] |= kUnlabelled;
    }
    if (const int f = filters_.of_source[d.source]; f >= 0) {
      const size_t rule = filters_.first_rule[static_cast<size_t>(f)];
      const Judgement j = w.filters[static_cast<size_t>(f)]->judge(text);
      for (uint64_t bits = j.failing; bits; bits &= bits - 1)
        ++p.rule_any[rule + static_cast<size_t>(__builtin_ctzll(bits))];
      if (!j.keep()) {
        ++p.rule_first[rule + static_cast<size_t>(j.first())];
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

  Piece first_look(Block&& block) {
    std::unique_ptr<Worker> w = borrow();
    Piece p;
    p.first = block.first;
    p.records.resize(block.rows.size());
    p.fates.resize(block.rows.size(), kProblem);
    p.bands.resize(bands_.size());
    p.rule_first.resize(filters_.rules.size()), p.rule_any.resize(filters_.rules.size());
    if (c_.near && c_.verify == Verification::signature)
      p.rows.resize(block.rows.size() * static_cast<size_t>(c_.sketch.rows));
    w->reader.read(
        block, p.counts, [&](const DocumentView& d) { look_at(d, *w, p); }, [](uint64_t, RowProblem) {});
    give_back(std::move(w));
    return p;
  }

  void keep(Piece&& p) {
    const uint64_t base = sets_.size() / sizeof(uint64_t);
    for (DocumentRecord& r : p.records) r.set_at += base;
    records_.append(p.records.data(), p.records.size() * sizeof(DocumentRecord));
    sets_.append(p.sets.data(), p.sets.size() * sizeof(uint64_t));
    rows_.append(p.rows.data(), p.rows.size() * sizeof(uint32_t));
    exact_.append(p.exact.data(), p.exact.size() * sizeof(BandRecord));
    for (size_t b = 0; b < bands_.size(); ++b)
      bands_[b].append(p.bands[b].data(), p.bands[b].size() * sizeof(BandRecord));
    fates_.insert(fates_.end(), p.fates.begin(), p.fates.end());
    report_.read.add(p.counts);
    report_.unlabelled += p.unlabelled;
    report_.rule_first.resize(std::max(report_.rule_first.size(), p.rule_first.size()));
    report_.rule_any.resize(report_.rule_first.size());
    for (size_t i = 0; i < p.rule_first.size(); ++i)
      report_.rule_first[i] += p.rule_first[i], report_.rule_any[i] += p.rule_any[i];
  }

  void read() {
    stage("read", 0, in_.bytes(), [&](StageReport& s) {
      BlockReader blocks(in_, c_.read);
      report_.rules = filters_.rules;
      ordered_pipeline<Block, Piece>(
          thread_count(),
          [&](Block& b) {
            if (!blocks.next(b)) return false;
            if (b.first + b.rows.size() > UINT32_MAX) fail("more than 2^32 rows in one run");
            return true;
          },
          [&](Block&& b) { return first_look(std::move(b)); },
          [&](Piece&& p) {
            keep(std::move(p));
            tell("read", blocks.packed_bytes(), in_.bytes(), report_.read.documents);
          });
      report_.damaged = blocks.damaged();
      records_.flush(), sets_.flush(), rows_.flush(), exact_.flush();
      report_.spilled = records_.size() + sets_.size() + rows_.size() + exact_.size();
      for (SpillFile& b : bands_) b.flush(), report_.spilled += b.size();
      survivor_.resize(fates_.size());
      for (size_t i = 0; i < survivor_.size(); ++i) survivor_[i] = static_cast<uint32_t>(i);
      for (uint8_t f : fates_) report_.filtered += f == kFiltered;
      s.documents_in = report_.read.documents, s.documents_out = report_.read.documents - report_.filtered;
      s.bytes_in = report_.read.text_bytes;
    });
  }

  bool removed(uint32_t d) const { return survivor_[d] != d; }
  void set_fate(uint32_t d, Fate f) { fates_[d] = static_cast<uint8_t>((fates_[d] & kMarks) | f); }

  // Documents of one content: the best stands for the others. Across sources, copies within a source share its fate.
  void copies() {
    const uint64_t before = report_.read.documents - report_.filtered;
    stage("exact", before, exact_.size(), [&](StageReport& s) {
      std::vector<DocumentRecord> r;
      std::vector<std::pair<DocumentRecord, uint32_t>> group;
      uint64_t gone = 0;
      for_each_group(exact_, c_.memory, [&](std::span<const uint32_t> same_key) {
        group.clear();
        for (uint32_t d : same_key) group.emplace_back(records_.record<DocumentRecord>(d), d);
        std::sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
          return a.first.content != b.first.content ? a.first.content < b.first.content : better(a.first, b.first);
        });
        for (size_t i = 0; i < group.size();) {
          size_t end = i + 1;
          while (end < group.size() && group[end].first.content == group[i].first.content) ++end;
          for (size_t k = i + 1; k < end; ++k) {
            const bool other = group[k].first.source != group[i].first.source;
            if (c_.scope == Scope::all || (c_.scope == Scope::across && other)) {
              survivor_[group[k].second] = group[i].second;
              set_fate(group[k].second, kExactCopy);
              ++gone;
            } else if (c_.scope == Scope::across) {
              survivor_[group[k].second] = group[i].second;
              set_fate(group[k].second, kShadow);
            } else {  // within: the best of its source is the first of the source in this run
              size_t head = i;
              while (group[head].first.source != group[k].first.source) ++head;
              if (head == k) continue;
              survivor_[group[k].second] = group[head].second;
              set_fate(group[k].second, kExactCopy);
              ++gone;
            }
          }
          i = end;
        }
      });
      report_.exact_removed = gone;
      s.documents_out = before - gone;
      after_exact_ = s.documents_out;
    });
  }

  void neighbours() {
    Candidates candidates;
    stage("bands", after_exact_, bands_.empty() ? 0 : bands_[0].size() * bands_.size(), [&](StageReport& s) {
      candidates = find_candidates(bands_, c_.memory, [&](uint32_t d) { return removed(d); });
      bands_.clear();
      report_.meetings = candidates.meetings;
      report_.candidate_pairs = candidates.pairs.size();
      s.documents_out = after_exact_;
    });
    std::vector<std::pair<DocumentRecord, uint32_t>> order;
    stage("sets", after_exact_, 0, [&](StageReport& s) {
      for (uint32_t d : candidates.documents()) order.emplace_back(DocumentRecord{}, d);
      parallel_for(static_cast<int64_t>(order.size()), 64, [&](int64_t begin, int64_t end) {
        std::vector<uint64_t> set, scratch;
        for (int64_t i = begin; i < end; ++i) {
          auto& [r, d] = order[static_cast<size_t>(i)];
          r = records_.record<DocumentRecord>(d);
          if (!wants_sets() || r.set_count == 0) continue;
          set.resize(r.set_count);
          sets_.read(r.set_at * 8, set.data(), set.size() * 8);
          sort_unique(set, scratch);
          sets_.write(r.set_at * 8, set.data(), set.size() * 8);
          r.set_count = static_cast<uint32_t>(set.size());
        }
      });
      std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return better(a.first, b.first); });
      s.documents_out = after_exact_;
    });
    stage("elect", after_exact_, 0, [&](StageReport& s) {
      std::vector<Contender> contenders;
      for (const auto& [r, d] : order) contenders.push_back({d, r.source});
      Likenesses likenesses(*this, order);
      const Likeness like = [&](uint32_t a, uint32_t b) { return likenesses(a, b); };
      const Election e = c_.clustering == Clustering::star ? elect_star(contenders, candidates, c_.scope, like)
                                                           : elect_closure(contenders, candidates, c_.scope, like);
      report_.compared = e.compared, report_.passed = e.passed;
      if (wants_sets()) report_.wrongful = 0;
      for (size_t p = 0; p < e.verdicts.size(); ++p) {
        const Verdict& v = e.verdicts[p];
        if (v.survivor == p) continue;
        const uint32_t d = order[p].second;
        survivor_[d] = order[v.survivor].second;
        set_fate(d, kNearCopy);
        ++report_.near_removed;
        const double x =
            v.similarity >= 0 || !wants_sets() ? v.similarity : like(static_cast<uint32_t>(p), v.survivor);
        if (x < 0) ++report_.wrongful;
      }
      if (!wants_sets()) report_.wrongful = -1;
      s.documents_out = after_exact_ - report_.near_removed;
    });
  }

  // Similarities of contenders from what the spill files hold; what each thread read last is kept.
  class Likenesses {
   public:
    using Order = std::vector<std::pair<DocumentRecord, uint32_t>>;
    Likenesses(const Dedup& d, const Order& order)
        : d_(d), order_(order), kept_(static_cast<size_t>(thread_count())) {}
    double operator()(uint32_t a, uint32_t b) {
      Kept& k = kept_[static_cast<size_t>(thread_index())];
      const double t = d_.c_.threshold;
      switch (d_.c_.verify) {
        case Verification::none:
          return 1;
        case Verification::signature: {
          if (k.position != a) rows(a, k.rows), k.position = a;
          rows(b, k.other_rows);
          const double x = row_agreement(k.rows, k.other_rows);
          return x >= t ? x : -1;
        }
        case Verification::exact:
        case Verification::containment: {
          const bool whole = d_.c_.verify == Verification::exact;
          const double na = order_[a].first.set_count, nb = order_[b].first.set_count;
          if (na == 0 && nb == 0) return d_.c_.collide_empty ? 1 : -1;
          if (whole && std::min(na, nb) < t * std::max(na, nb)) return -1;
          if (k.position != a) set(a, k.set), k.position = a;
          set(b, k.other);
          return whole ? jaccard_at_least(k.set, k.other, t) : containment_at_least(k.set, k.other, t);
        }
      }
      return -1;
    }

   private:
    struct alignas(64) Kept {
      uint32_t position = UINT32_MAX;
      std::vector<uint64_t> set, other;
      std::vector<uint32_t> rows, other_rows;
    };
    void set(uint32_t p, std::vector<uint64_t>& to) const {
      to.resize(order_[p].first.set_count);
      d_.sets_.read(order_[p].first.set_at * 8, to.data(), to.size() * 8);
    }
    void rows(uint32_t p, std::vector<uint32_t>& to) const {
      to.resize(static_cast<size_t>(d_.c_.sketch.rows));
      d_.rows_.read(uint64_t{order_[p].second} * to.size() * 4, to.data(), to.size() * 4);
    }
    const Dedup& d_;
    const Order& order_;
    std::vector<Kept> kept_;
  };

  // Chains end at a document that stays; shadows share the fate of the one they stand behind.
  void settle() {
    for (uint32_t d = 0; d < survivor_.size(); ++d) {
      uint32_t s = survivor_[d];
      while (survivor_[s] != s) s = survivor_[s];
      if ((fates_[d] & ~kMarks) == kShadow) {
        const uint32_t front = survivor_[d];
        const int fate = fates_[front] & ~kMarks;
        if (fate == kKept || fate == kShadow) {
          set_fate(d, kKept);
          survivor_[d] = d;
          continue;
        }
        set_fate(d, static_cast<Fate>(fate));
        ++(fate == kExactCopy ? report_.exact_removed : report_.near_removed);
      }
      survivor_[d] = s;
    }
    for (uint8_t f : fates_) {
      const bool stays = (f & ~kMarks) == kKept;
      report_.kept += stays && !(f & kUnlabelled);
      report_.unlabelled += stays && (f & kUnlabelled);
    }
  }

  void clusters() {
    std::vector<std::pair<uint32_t, uint32_t>> gone;  // survivor, document
    for (uint32_t d = 0; d < survivor_.size(); ++d)
      if (removed(d)) gone.emplace_back(survivor_[d], d);
    std::sort(gone.begin(), gone.end());
    ZstdWriter file(out_ / "clusters.jsonl.zst", c_.level);
    for (size_t i = 0; i < gone.size();) {
      size_t end = i;
      while (end < gone.size() && gone[end].first == gone[i].first) ++end;
      std::string line =
          fmt::format("{{\"survivor\":{},\"removed\":[", records_.record<DocumentRecord>(gone[i].first).id);
      for (size_t k = i; k < end; ++k)
        line += fmt::format("{}{{\"id\":{},\"copy\":\"{}\"}}", k > i ? "," : "",
                            records_.record<DocumentRecord>(gone[k].second).id,
                            (fates_[gone[k].second] & ~kMarks) == kExactCopy ? "exact" : "near");
      file.write(line + "]}\n");
      ++report_.clusters;
      report_.largest = std::max<uint64_t>(report_.largest, end - i + 1);
      i = end;
    }
    file.close();
  }

  Part copy_survivors(Block&& block) {
    std::unique_ptr<Worker> w;
    Part part;
    std::string lines;
    ReadCounts ignored;
    for (size_t i = 0; i < block.rows.size(); ++i) {
      const uint8_t fate = fates_[block.first + i];
      if ((fate & ~kMarks) != kKept || (fate & kUnlabelled)) continue;
      const Row& row = block.rows[i];
      ++part.documents;
      if (in_.files[row.file].form == InputForm::jsonl && !(fate & kChanged) && !c_.read.replace_utf8) {
        lines += block.text(row);
        lines += '\n';
        continue;
      }
      if (!w) w = borrow();
      Block one;
      one.first = block.first + i;
      one.rows = {row};
      one.bytes = block.text(row);
      one.rows[0].begin = 0, one.rows[0].end = one.bytes.size();
      w->reader.read(
          one, ignored,
          [&](const DocumentView& d) {
            DocumentFilter* f =
                fate & kChanged ? w->filters[static_cast<size_t>(filters_.of_source[d.source])].get() : nullptr;
            append_document(d, f ? f->judge(d.text).text : d.text, lines);
          },
          [](uint64_t, RowProblem) {});
    }
    if (w) give_back(std::move(w));
    part.unpacked = lines.size();
    if (!lines.empty()) zstd_frame(lines, c_.level, part.frame);
    return part;
  }

  void emit() {
    stage("write", report_.kept, in_.bytes(), [&](StageReport& s) {
      BlockReader blocks(in_, c_.read);
      ShardWriter shards(out_, "part", c_.level, c_.shard_bytes);
      uint64_t rows = 0;
      ordered_pipeline<Block, Part>(
          thread_count(),
          [&](Block& b) {
            if (!blocks.next(b)) return false;
            if (b.first + b.rows.size() > fates_.size()) fail("the inputs grew between the two readings");
            rows = b.first + b.rows.size();
            return true;
          },
          [&](Block&& b) { return copy_survivors(std::move(b)); },
          [&](Part&& p) {
            shards.write_frame(p.frame, p.unpacked);
            s.documents_out += p.documents;
            tell("write", blocks.packed_bytes(), in_.bytes(), s.documents_out);
          });
      if (rows != fates_.size()) fail("the inputs shrank between the two readings");
      shards.close();
      report_.bytes_out = shards.bytes_out();
      for (const std::string& n : shards.names()) report_.outputs.emplace_back(n, file_hash(out_ / n));
      report_.outputs.emplace_back("clusters.jsonl.zst", file_hash(out_ / "clusters.jsonl.zst"));
    });
  }

  const Inputs& in_;
  const DedupConfig& c_;
  FilterTable filters_;
  const fs::path& out_;
  const std::function<void(const DedupProgress&)>& progress_;
  std::vector<SpillFile> bands_;
  SpillFile exact_, records_, sets_, rows_;
  std::vector<uint8_t> fates_;
  std::vector<uint32_t> survivor_;
  uint64_t after_exact_ = 0;
  std::mutex workers_lock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  DedupReport report_;
};

}  // namespace

DedupReport deduplicate(const Inputs& inputs, const DedupConfig& config, const fs::path& out,
                        const std::function<void(const DedupProgress&)>& progress) {
  return Dedup(inputs, config, out, progress).run();
}

}  // namespace quern::corpus
