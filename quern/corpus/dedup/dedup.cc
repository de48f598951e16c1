#include "quern/corpus/dedup/dedup.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <map>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/dedup/dedup_run.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/io/byte_stream.h"
#include "quern/corpus/run/run_state.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/sketch/similarity.h"

namespace quern::corpus {

namespace fs = std::filesystem;

namespace {

constexpr size_t kSampleClusters = 12, kSampleRemoved = 3;
// From here on memory is given back to the system where tables follow; it costs a fault a page.
constexpr size_t kManyRows = size_t{1} << 20;

// What a state belongs to: the configuration, and the index and the inputs as they lie there.
std::string identity_of(const Inputs& in, const DedupConfig& c, const Ranks& ranks) {
  std::string all = fmt::format("state 3 {} {} {}", ranks.size(), c.block_bytes, c.json().dump());
  if (!c.against.empty()) all += read_file(fs::path(c.against) / "index.json");
  return run_identity(in, all);
}

void check(const DedupConfig& c) {
  if (c.near && c.bands.bands * c.bands.rows > c.sketch.rows)
    fail("{} LSH bands of {} rows need a signature of {} rows, it has {}", c.bands.bands, c.bands.rows,
         c.bands.bands * c.bands.rows, c.sketch.rows);
  if (!(c.threshold >= 0 && c.threshold <= 1)) fail("threshold {}: expected a number from 0 to 1", c.threshold);
}

const fs::path& prepared(const fs::path& out, const DedupConfig& c) {
  check(c);
  refuse_finished(out);
  return out;
}

}  // namespace

FilterTable::FilterTable(const Inputs& inputs, const DedupConfig& config) {
  std::vector<std::string> wanted = config.filters;
  if (wanted.size() == 1) wanted.resize(inputs.sources.size(), std::string(wanted[0]));
  QUERN_CHECK(wanted.size() == inputs.sources.size(), "{} filters for {} sources", wanted.size(),
              inputs.sources.size());
  for (const std::string& n : wanted) {
    const auto known = std::find(names.begin(), names.end(), n);
    of_source.push_back(n == "none" ? -1 : static_cast<int>(known - names.begin()));
    if (n == "none" || known != names.end()) continue;
    const FilterMaker make = find_filter(n, config.lists);
    names.push_back(n), makers.push_back(make);
    first_rule.push_back(rules.size());
    const std::unique_ptr<DocumentFilter> one = make();  // its rules may be its own
    for (const char* rule : one->rules()) rules.emplace_back(rule);
  }
}

DedupRun::DedupRun(const Inputs& inputs, const DedupConfig& config, const fs::path& out,
                   const std::function<void(const DedupProgress&)>& progress, Ranks ranks)
    : in_(inputs),
      c_(config),
      filters_(inputs, config),
      out_(prepared(out, config)),
      progress_(progress),
      ranks_(ranks),
      index_(read_index_head(config, ranks.first())),
      folder_(out, identity_of(inputs, config, ranks), ranks) {
  if (index_.sources.size() + in_.sources.size() > kMaxSources)
    fail("{} sources in the index and {} new ones: expected at most {} together", index_.sources.size(),
         in_.sources.size(), kMaxSources);
  if (index_.files + in_.files.size() > kMaxFiles)
    fail("{} files in the index and {} new ones: expected at most {} together", index_.files, in_.files.size(),
         kMaxFiles);
  if (folder_.state().is_null() && ranks_.first()) prepare_output(out_);
  // Every rank has the files of all of them open at once.
  want_open_files(64 + static_cast<size_t>(ranks_.size() + 2) * (band_files() + 8));
  report_.discarded = folder_.discarded();
  report_.indexed = index_.documents;
}

DedupReport DedupRun::run(const std::function<void(const DedupReport&)>& finish) {
  const Json* state = folder_.state().is_null() ? nullptr : &folder_.state();
  // The first rank notes that it writes before the others do.
  const bool written = ranks_.from_first(state ? state->at("phase").as_string() : "read") == "write";
  check_index_name(c_.save_index, written);
  if (!written) {
    read(state);
    copies();
    if (c_.near) neighbors();
    if (ranks_.first()) {
      settle();
      clusters();
      if (!c_.save_index.empty()) save_index();
    }
    survivor_ = {}, sources_ = {};
    sorted_.clear();
    give_memory_back(statuses_.size());
  }
  emit(written ? state : nullptr);
  if (ranks_.first()) {
    if (!c_.save_index.empty()) finish_index(c_.save_index);
    if (finish) finish(report_);
  }
  ranks_.barrier();
  folder_.remove();
  return std::move(report_);
}

double DedupRun::seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t DedupRun::peak_rss() {
  // Not getrusage's: that begins with the peak of whoever started this process.
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;  // where the system does not say, it is not known
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      std::from_chars(line.data() + line.find_first_of("0123456789"), line.data() + line.size(), kib);
  return kib << 10;
}

void DedupRun::give_memory_back(uint64_t rows) {
  if (rows >= kManyRows) ::malloc_trim(0);
}

std::unique_ptr<DedupWorker> DedupRun::borrow() {
  std::lock_guard lock(workers_lock_);
  if (workers_.empty()) return std::make_unique<DedupWorker>(in_, c_, filters_);
  std::unique_ptr<DedupWorker> w = std::move(workers_.back());
  workers_.pop_back();
  return w;
}

void DedupRun::give_back(std::unique_ptr<DedupWorker> w) {
  std::lock_guard lock(workers_lock_);
  workers_.push_back(std::move(w));
}

// Documents of one content: the best stands for the others. Across sources, copies within a source share its fate.
void DedupRun::copies() {
  struct Copy {
    uint32_t document, front;
    uint64_t status;
  };
  const uint64_t before = report_.read.documents - report_.filtered;
  const std::vector<const SpillFile*> files = rows_.exact();
  uint64_t bytes = 0;
  for (const SpillFile* f : files) bytes += f->size();
  stage("exact", before, bytes, [&](StageReport& s) {
    std::vector<std::pair<DocumentRecord, uint32_t>> group;
    std::vector<Copy> found;
    uint64_t gone = 0;
    const auto apply = [&](const Copy& c) {
      survivor_[c.document] = c.front;
      set_status(c.document, static_cast<DocStatus>(c.status));
      gone += c.status == kExactDuplicate;
    };
    const auto note = [&](uint32_t document, uint32_t front, DocStatus status) {
      ranks_.alone() ? apply({document, front, status}) : found.push_back({document, front, status});
    };
    const auto look = [&](std::span<const uint32_t> same_key) {
      group.clear();
      for (uint32_t d : same_key) group.emplace_back(rows_.record(d), d);
      std::sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
        return a.first.content != b.first.content ? a.first.content < b.first.content : better(a.first, b.first);
      });
      for (size_t i = 0; i < group.size();) {
        size_t end = i + 1;
        while (end < group.size() && group[end].first.content == group[i].first.content) ++end;
        for (size_t k = i + 1; k < end; ++k) {
          const bool other = group[k].first.source != group[i].first.source;
          if (c_.scope == Scope::all || (c_.scope == Scope::across && other)) {
            note(group[k].second, group[i].second, kExactDuplicate);
          } else if (c_.scope == Scope::across) {
            note(group[k].second, group[i].second, kShadow);
          } else {  // within: the best of its source is the first of the source in this run
            size_t head = i;
            while (group[head].first.source != group[k].first.source) ++head;
            if (head != k) note(group[k].second, group[head].second, kExactDuplicate);
          }
        }
        i = end;
      }
    };
    for_each_group(files, c_.memory, look, {ranks_.rank(), ranks_.size()});
    if (!ranks_.alone())
      for (const Copy& c : ranks_.gather(found)) apply(c);
    report_.exact_removed = gone;
    s.documents_out = before - gone;
    after_exact_ = s.documents_out;
  });
}

// Chains end at a document that stays; shadows share the fate of the one they stand behind.
void DedupRun::settle() {
  const auto end = static_cast<uint32_t>(survivor_.size()), begin = static_cast<uint32_t>(index_.documents);
  for (uint32_t d = begin; d < end; ++d) {
    uint32_t s = survivor_[d];
    while (survivor_[s] != s) s = survivor_[s];
    if ((statuses_[d] & ~kMarks) == kShadow) {
      const uint32_t front = survivor_[d];
      const int status = statuses_[front] & ~kMarks;
      if (status == kKept || status == kShadow) {
        set_status(d, kKept);
        survivor_[d] = d;
        continue;
      }
      set_status(d, static_cast<DocStatus>(status));
      ++(status == kExactDuplicate ? report_.exact_removed : report_.near_removed);
    }
    survivor_[d] = s;
  }
  const size_t n = report_.sources.size();
  report_.overlap.assign(n, std::vector<uint64_t>(n));
  for (uint32_t d = begin; d < end; ++d) {
    const int status = statuses_[d] & ~kMarks;
    SourceFunnel& f = report_.sources[sources_[d]];
    const bool stays = status == kKept, late = stays && (statuses_[d] & kUnlabeled);
    report_.kept += stays && !late, f.kept += stays && !late;
    report_.unlabeled += late, f.unlabeled += late;
    f.exact_removed += status == kExactDuplicate, f.near_removed += status == kNearDuplicate;
    if (removed(d)) ++report_.overlap[sources_[survivor_[d]]][sources_[d]];
  }
}

void DedupRun::clusters() {
  std::vector<std::pair<uint32_t, uint32_t>> gone;  // survivor, document
  for (uint32_t d = 0; d < survivor_.size(); ++d)
    if (removed(d)) gone.emplace_back(survivor_[d], d);
  std::sort(gone.begin(), gone.end());
  std::map<uint64_t, uint64_t> sizes;
  ZstdWriter file(out_ / "clusters.jsonl.zst", c_.level);
  for (size_t i = 0; i < gone.size();) {
    size_t end = i;
    while (end < gone.size() && gone[end].first == gone[i].first) ++end;
    std::string line = fmt::format("{{\"survivor\":{},\"removed\":[", rows_.record(gone[i].first).id);
    for (size_t k = i; k < end; ++k)
      line += fmt::format("{}{{\"id\":{},\"copy\":\"{}\"}}", k > i ? "," : "", rows_.record(gone[k].second).id,
                          (statuses_[gone[k].second] & ~kMarks) == kExactDuplicate ? "exact" : "near");
    file.write(line + "]}\n");
    ++report_.clusters;
    ++sizes[end - i + 1];
    report_.largest = std::max<uint64_t>(report_.largest, end - i + 1);
    i = end;
  }
  file.close();
  report_.cluster_sizes.assign(sizes.begin(), sizes.end());
  pick_samples(gone);
}

// The largest clusters, the earlier survivor first among equals; of each the survivor and a few it stands for, evenly
// spread. Their texts come with the second reading. gone: (survivor, document), ascending.
void DedupRun::pick_samples(const std::vector<std::pair<uint32_t, uint32_t>>& gone) {
  std::vector<std::pair<size_t, size_t>> ranges;  // size, where it begins
  for (size_t i = 0, end = 0; i < gone.size(); i = end) {
    for (end = i; end < gone.size() && gone[end].first == gone[i].first;) ++end;
    ranges.emplace_back(end - i, i);
  }
  const size_t n = std::min(kSampleClusters, ranges.size());
  std::partial_sort(
      ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(n), ranges.end(),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<uint64_t> survivor, set, scratch;
  for (size_t k = 0; k < n; ++k) {
    const auto [size, begin] = ranges[k];
    ClusterSample& c = report_.samples.emplace_back();
    c.size = size + 1;
    const auto document = [&](uint32_t d) {
      const DocumentRecord r = rows_.record(d);
      return SampleDocument{.number = d, .source = r.source, .id = r.id, .bytes = r.length, .text = {}};
    };
    const uint32_t s = gone[begin].first;
    c.survivor = document(s);
    if (wants_sets()) rows_.set(s, rows_.record(s), survivor), sort_unique(survivor, scratch);
    const size_t some = std::min(kSampleRemoved, size);
    for (size_t i = 0; i < some; ++i) {
      const uint32_t d = gone[begin + i * size / some].second;
      SampleDocument& sample = c.removed.emplace_back(document(d));
      sample.exact = (statuses_[d] & ~kMarks) == kExactDuplicate;
      if (!wants_sets()) continue;
      rows_.set(d, rows_.record(d), set);
      sort_unique(set, scratch);
      sample.similarity = sample.exact ? 1 : jaccard(survivor, set);
    }
  }
}

DedupReport deduplicate(const Inputs& inputs, const DedupConfig& config, const fs::path& out,
                        const std::function<void(const DedupProgress&)>& progress,
                        const std::function<void(const DedupReport&)>& finish, Communicator* ranks) {
  return DedupRun(inputs, config, out, progress, Ranks(ranks)).run(finish);
}

}  // namespace quern::corpus
