// quern corpus filter | extract: keeps the documents that pass a filter's rules, or all; the others are written with their
// reasons. With --out -, rows go to standard output.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/error.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/stages/filter_stage.h"

namespace quern::cli {
namespace {

using namespace corpus;

void put_to_stdout(std::string_view lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), stdout) != lines.size())
    fail("cannot write to standard output: {}", std::strerror(errno));
}

void refuse_with_stdout(const std::string& verb, bool given, const char* flag) {
  if (given) throw UsageError(fmt::format("quern {}: {} needs an output folder, and --out - has none", verb, flag));
}

void print_rules(const FilterReport& r, std::FILE* to) {
  for (size_t i = 0; i < r.rules.size(); ++i)
    if (r.rule_any[i] > 0)
      fmt::print(to, "  {:<20} {:>9} failed it first, {:>9} in all\n", r.rules[i], r.rule_first[i], r.rule_any[i]);
}

// What is said goes to stderr, where the rows do not.
int stream_rows(const CorpusFlags& flags, const Inputs& in, const FilterRun& run) {
  FilterReport r;
  {
    Progress progress;
    r = filter_lines(in, run, put_to_stdout,
                     [&](uint64_t done, uint64_t total) { progress.share("filter", done, total); });
  }
  if (std::fflush(stdout) != 0) fail("cannot write to standard output: {}", std::strerror(errno));
  warn_about_idle(r.idle_rules);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  fmt::print(stderr, "{}: kept {} of {} documents\n", flags.out, r.kept, r.scan.read.documents);
  print_rules(r, stderr);
  return status;
}

struct FilterCommand {
  std::string verb;
  CorpusFlags& flags;
  RejectFlags removed;
  bool json = false;

  int run(const FilterMaker& make) const;
};

int FilterCommand::run(const FilterMaker& make) const {
  const std::string &filter = flags.source().filter, &lists = flags.recipe.lists;
  refuse_with_stdout(verb, flags.to_stdout() && removed.rejects, "--rejects");
  refuse_with_stdout(verb, flags.to_stdout() && removed.reasons, "--reasons");
  refuse_with_stdout(verb, flags.to_stdout() && json, "--json");
  const Inputs in = flags.inputs();
  const bool fields = std::ranges::any_of(in.files, [](const auto& f) { return f.form != InputForm::warc; });
  if (fields && make && make()->wants_url() && flags.source().url_field.empty())
    throw UsageError(
        fmt::format("quern {}: --filter {} needs --url-field: name the field with the URL", verb, filter));
  FilterRun run{.make = make,
                .what = fmt::format("{} {}", filter, lists),
                .scan = flags.scan(),
                .rejects = removed.rejects,
                .reasons = removed.reasons,
                .to = {}};
  if (flags.to_stdout()) return stream_rows(flags, in, run);
  run.to = flags.output();
  flags.clear_output(in);
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("filter", done, total); },
        [&](const FilterReport& report) {
          j = report.json();
          j.set("filter", filter), j.set("lists", lists), j.set("inputs", inputs_json(in, report.scan.read));
          j = write_manifest(flags.out, j);
        });
  }
  report_resuming(flags.out, r.went_on);
  warn_about_idle(r.idle_rules);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json) {
    fmt::print("{}\n", j.dump());
    return status;
  }
  fmt::print("{}: kept {} of {} documents\n", flags.out, r.kept, r.scan.read.documents);
  print_rules(r, stdout);
  return status;
}

}  // namespace

int corpus_filter(Words args) {
  CorpusFlags flags;
  flags.source().filter = "zyda";
  FilterCommand command{.verb = "corpus filter", .flags = flags, .removed = {}};
  Args a(command.verb, "remove documents by quality rules (C4, Gopher, FineWeb, Zyda)");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_filter(a);
  a.settings(command.removed).json(command.json, Args::kCounts);
  a.note("With --out -, passed documents go to standard output as JSON lines, and what is said to standard error.");
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  if (flags.source().filter == "none")
    throw UsageError(
        "quern corpus filter: --filter none removes nothing: name a filter, or use quern corpus extract");
  return command.run(find_filter(flags.source().filter, flags.recipe.lists));
}

int corpus_extract(Words args) {
  CorpusFlags flags;
  FilterCommand command{.verb = "corpus extract", .flags = flags, .removed = {}};
  Args a(command.verb, "write documents as JSON lines: the main text of web pages, the rows of tables");
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.json(command.json, Args::kCounts);
  a.note("With --out -, documents go to standard output, and what is said to standard error.");
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  return command.run({});
}

}  // namespace quern::cli
