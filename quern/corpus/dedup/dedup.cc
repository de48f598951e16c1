#include "quern/corpus/dedup/dedup.h"

#include "quern/base/error.h"
#include "quern/corpus/dedup/dedup_job.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/io/run_manifest.h"

namespace quern::corpus {
namespace {

// An index may lie in the output folder: then it is the run's too.
void list_index(const std::filesystem::path& out, const std::string& index) {
  if (index.empty()) return;
  const std::filesystem::path path = std::filesystem::absolute(index);
  if (path.parent_path() != std::filesystem::weakly_canonical(std::filesystem::absolute(out))) return;
  list_file(out / RunFolder::kName, {path.filename().string()});
}

// The first pass and everything that is decided by it. The tables of all documents are gone when it returns.
DedupDecisions decide(const DedupJob& job, RunFolder& folder) {
  Documents all = read_documents(job, folder);
  all = mark_exact_copies(job, std::move(all));
  if (job.config.near) all = mark_near_duplicates(job, folder, std::move(all));
  if (job.ranks.first()) {
    all = settle(job, std::move(all));
    all = write_clusters(job, std::move(all));
    if (!job.config.save_index.empty()) all = save_index(job, std::move(all));
  }
  return {.statuses = std::move(all.statuses), .first = 0, .report = std::move(all.report)};
}

}  // namespace

const RunNames& dedup_run_names() {
  static const RunNames names{
      .whole_files = {"clusters.jsonl.zst", "manifest.json", "report.html", "recipe.json", kLaterStages}};
  return names;
}

DedupReport deduplicate(const Inputs& inputs, const DedupConfig& config, const std::filesystem::path& out,
                        const std::function<void(const DedupProgress&)>& progress,
                        const std::function<void(const DedupReport&)>& finish, comm::Communicator* ranks) {
  refuse_pipes(inputs);
  const DedupJob job(inputs, config, out, Ranks(ranks), progress);
  RunFolder folder(out, job.identity(), job.ranks, dedup_run_names());
  if (folder.state().is_null() && job.ranks.first()) list_index(out, config.save_index);
  // The first rank notes that it writes before the others do.
  const bool decided = job.ranks.from_first(folder.phase()) == "write";
  // Once decided, a run whose unfinished index is gone has moved it to its name.
  if (!decided || std::filesystem::exists(index_part(config.save_index))) check_index_name(config.save_index);
  DedupDecisions decisions = decided ? saved_decisions(job, folder) : decide(job, folder);
  if (!decided) {
    release_free_memory(decisions.statuses.size());
    decisions = share_decisions(job, folder, std::move(decisions));
  }
  const DedupReport report = write_kept(job, folder, std::move(decisions));
  if (job.ranks.first()) {
    if (!config.save_index.empty()) finish_index(config.save_index);
    if (finish) finish(report);
  }
  job.ranks.barrier();
  folder.remove();
  return report;
}

}  // namespace quern::corpus
