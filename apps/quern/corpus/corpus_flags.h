// What the sub-verbs of quern corpus share: flags for reading inputs, and warnings about skipped records. The flags are
// made from the recipe's settings (corpus_settings.h).
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "apps/quern/cli/args.h"
#include "quern/corpus/stages/filter_stage.h"
#include "quern/corpus/stages/recipe.h"

namespace quern::cli {

// What a stage that removes documents writes of them.
struct RejectFlags {
  bool rejects = false, reasons = false;
  template <class V>
  void visit(V& v) {
    v("rejects", rejects, "write removed documents to reject-*.jsonl.zst");
    v("reasons", reasons, "write reasons.jsonl: why each removed document was removed");
  }
};

void print_rules(const corpus::FilterReport& r, std::FILE* to);

struct OverwriteFlag {
  bool overwrite = false;
  template <class V>
  void visit(V& v) {
    corpus::visit_overwrite(v, overwrite);
  }
};

struct CorpusFlags {
  CorpusFlags() { recipe.source.resize(1); }
  CorpusFlags(const CorpusFlags&) = delete;  // flags point into it
  CorpusFlags& operator=(const CorpusFlags&) = delete;

  corpus::CorpusRecipe recipe;  // with one source, which stands for all inputs
  std::vector<std::string> words;
  std::string out;
  OverwriteFlag overwriting;
  bool streams = false;  // --out - is possible
  int64_t checkpoint_mib = static_cast<int64_t>(corpus::StageOutput().checkpoint_bytes >> 20);

  corpus::SourceSettings& source() { return recipe.source[0]; }
  const corpus::SourceSettings& source() const { return recipe.source[0]; }
  void declare(Args& a);
  void declare_reading(Args& a);                 // without --out and how it is written
  bool to_stdout() const { return out == "-"; }  // rows as JSON lines instead of a folder
  void declare_stream(Args& a);                  // for stages that can write there
  void declare_checkpoints(Args& a);             // for stages that resume after a kill
  void declare_filter(Args& a);                  // by name, and its word lists
  void check(const std::string& verb) const;     // throws UsageError
  void check_reading(const std::string& verb) const;
  // Throws UsageError for a filter that judges addresses where nothing says which field has them.
  void check_url(const std::string& verb, const std::string& filter, const corpus::FilterMaker& make,
                 const corpus::Inputs& in) const;
  corpus::Inputs inputs() const;
  void clear_output(const corpus::Inputs& in) const;  // of an earlier run, where that was asked for
  corpus::ScanOptions scan() const;
  corpus::StageOutput output() const;
};

// The stage with --out -: rows go to standard output, and what is said to stderr. Returns the exit status.
// more: what the last line says besides.
using ReportWords = std::function<std::string(const corpus::FilterReport&)>;
[[nodiscard]] int stream_rows(const CorpusFlags& flags, const corpus::Inputs& in, const corpus::FilterRun& run,
                              const ReportWords& more = {});

// Throws UsageError when something is asked for that needs a folder.
using AskedFlags = std::initializer_list<std::pair<const char*, bool>>;
void refuse_with_stdout(const std::string& verb, const CorpusFlags& flags, AskedFlags asked);

// Throws UsageError naming the flag: "quern corpus mix: --shard-mib 0: expected 1 or more".
void check_ranges(const std::string& verb, const std::vector<SettingInfo>& settings);

void report_resuming(const std::string& out, const corpus::ResumeInfo& w);

Json tool(const char* verb);  // the program's name and version, for a manifest

enum class ReportForm { text, json };
// What a deduplication came to, as text on stdout unless that has JSON, and warnings. The exit status.
[[nodiscard]] int report_dedup(const corpus::DedupReport& r, const corpus::Inputs& in, const std::string& out,
                               ReportForm form);

// Says on stderr where the threshold has bands that were made for another one; how names the remedy.
void warn_about_bands(const corpus::DedupSettings& settings, const char* how);

// Says on stderr which rules do nothing for want of a list.
void warn_about_idle(const std::vector<std::string>& rules);

// Says on stderr that rows had members of the names of columns that were to be added, which stayed.
void warn_about_own_members(uint64_t rows);

// Says on stderr that duplicates between sources alone are to be removed, and there is one source.
void warn_about_scope(const corpus::DedupConfig& config, const corpus::Inputs& in);

// Of files with invalid records, which are named: all of them, where no manifest counts them.
enum class NamedFiles { first, all };
// Says on stderr what was not read. The exit status: 1 when a whole input file was lost.
[[nodiscard]] int warn_about(const corpus::ReadCounts& read, const std::vector<std::string>& damaged,
                             const corpus::Inputs& in, NamedFiles named = NamedFiles::first);

}  // namespace quern::cli
