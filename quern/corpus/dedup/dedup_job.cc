#include "quern/corpus/dedup/dedup_job.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

namespace fs = std::filesystem;

namespace {

// From here on memory is given back to the system where tables follow; it costs a fault a page.
constexpr size_t kManyDocuments = size_t{1} << 20;

void check(const DedupConfig& c) {
  if (c.near && c.bands.bands * c.bands.rows > c.sketch.rows)
    fail("{} LSH bands of {} rows need a signature of {} rows, it has {}", c.bands.bands, c.bands.rows,
         c.bands.bands * c.bands.rows, c.sketch.rows);
  if (!(c.threshold >= 0 && c.threshold <= 1)) fail("threshold {}: expected a number from 0 to 1", c.threshold);
}

// A WARC record says where it comes from; of other files a field must.
void check_urls(const Inputs& inputs, const DedupConfig& config, const std::string& filter, size_t source) {
  const FieldMap& fields = config.fields.size() == 1 ? config.fields[0] : config.fields.at(source);
  for (const InputFile& f : inputs.files)
    if (f.source == source && fields.url.empty() && f.form != InputForm::warc)
      fail("source '{}': filter {} needs a url_field: the field of {} with the URL", inputs.sources[source], filter,
           f.path.string());
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
    if (n != "none" && known != names.end() && makers[static_cast<size_t>(known - names.begin())]()->wants_url())
      check_urls(inputs, config, n, of_source.size() - 1);
    if (n == "none" || known != names.end()) continue;
    const FilterMaker make = find_filter(n, config.lists);
    names.push_back(n), makers.push_back(make);
    first_rule.push_back(rules.size());
    const std::unique_ptr<DocumentFilter> one = make();  // its rules may be its own
    for (const char* rule : one->rules()) rules.emplace_back(rule);
    for (const char* rule : one->idle_rules()) idle.emplace_back(rule);
    if (one->wants_url()) check_urls(inputs, config, n, of_source.size() - 1);
  }
}

DedupJob::DedupJob(const Inputs& in, const DedupConfig& c, const fs::path& folder, Ranks all,
                   const std::function<void(const DedupProgress&)>& report)
    : inputs(in),
      config(c),
      filters(in, c),
      out(prepared(folder, c)),
      ranks(all),
      index(read_index_head(c, all.first() ? IndexCheck::hashes : IndexCheck::sizes)),
      progress(report) {
  if (index.sources.size() + in.sources.size() > kMaxSources)
    fail("{} sources in the index and {} new ones: expected at most {} together", index.sources.size(),
         in.sources.size(), kMaxSources);
  if (index.files + in.files.size() > kMaxFiles)
    fail("{} files in the index and {} new ones: expected at most {} together", index.files, in.files.size(),
         kMaxFiles);
  // Every rank has the files of all of them open at once.
  want_open_files(64 + static_cast<size_t>(ranks.size() + 2) * (band_files() + 8));
}

std::string DedupJob::identity() const {
  std::string all = fmt::format("state 5 {} {} {} {}", ranks.size(), config.block_bytes, config.json().dump(),
                                config.models_text());
  if (!config.against.empty()) all += read_file(fs::path(config.against) / "index.json");
  return run_identity(inputs, all);
}

std::unique_ptr<DedupWorker> DedupJob::borrow_worker() const {
  std::lock_guard lock(workers_lock_);
  if (workers_.empty()) return std::make_unique<DedupWorker>(inputs, config, filters);
  std::unique_ptr<DedupWorker> w = std::move(workers_.back());
  workers_.pop_back();
  return w;
}

void DedupJob::give_back(std::unique_ptr<DedupWorker> w) const {
  std::lock_guard lock(workers_lock_);
  workers_.push_back(std::move(w));
}

uint64_t peak_rss() {
  // Not getrusage's: that begins with the peak of whoever started this process.
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      std::from_chars(line.data() + line.find_first_of("0123456789"), line.data() + line.size(), kib);
  return kib << 10;
}

void release_free_memory(uint64_t documents) {
  if (documents >= kManyDocuments) ::malloc_trim(0);
}

}  // namespace quern::corpus
