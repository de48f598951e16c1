#include "apps/quern/corpus/corpus_flags.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "apps/quern/cli/progress.h"
#include "quern/base/error.h"
#include "quern/base/version.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/stages/row_stage.h"

namespace quern::cli {
namespace {

constexpr size_t kShown = 8;

// A few of every file in turn, so that one bad file does not hide the others.
void print_examples(const corpus::ReadCounts& read) {
  std::vector<std::vector<const std::string*>> by_file;
  for (size_t i = 0; i < read.examples.size(); ++i) {
    if (i == 0 || read.examples[i].file != read.examples[i - 1].file) by_file.emplace_back();
    by_file.back().push_back(&read.examples[i].text);
  }
  std::vector<size_t> shown(by_file.size());
  size_t n = 0;
  for (size_t turn = 0; turn < kShown && n < kShown; ++turn)
    for (size_t f = 0; f < by_file.size() && n < kShown; ++f)
      if (turn < by_file[f].size()) ++shown[f], ++n;
  for (size_t f = 0; f < by_file.size(); ++f)
    for (size_t i = 0; i < shown[f]; ++i) fmt::print(stderr, "  {}\n", *by_file[f][i]);
  if (read.bad() > n) fmt::print(stderr, "  and {} more\n", read.bad() - n);
}

void print_bad_files(const corpus::ReadCounts& read, const corpus::Inputs& in, NamedFiles named) {
  std::vector<corpus::FileRows> files;
  for (const corpus::FileRows& f : read.files)
    if (f.bad > 0) files.push_back(f);
  if (files.size() < 2) return;
  std::ranges::stable_sort(files, std::greater(), &corpus::FileRows::bad);
  fmt::print(stderr, "  {} files have invalid records:\n", files.size());
  const size_t shown = named == NamedFiles::all ? files.size() : std::min(files.size(), kShown);
  for (size_t i = 0; i < shown; ++i)
    fmt::print(stderr, "  {}: {} of {}\n", in.files[files[i].file].path.string(), files[i].bad,
               files[i].bad + files[i].documents);
  if (files.size() > shown) fmt::print(stderr, "  and {} more; the manifest counts them all\n", files.size() - shown);
}

// A mistyped name of the field would leave rules for URLs without anything to judge.
void warn_about_urls(const corpus::ReadCounts& read, const corpus::Inputs& in) {
  const std::vector<std::string> without = corpus::sources_without_url(in, read);
  if (without.empty()) return;
  const bool named = corpus::names_sources(in);
  fmt::print(stderr,
             "warning: no row{} has the field that --url-field (url_field in a recipe) names: rules for URLs remove "
             "nothing there\n",
             named ? fmt::format(" of the source {}", fmt::join(without, ", ")) : "");
}

}  // namespace

void CorpusFlags::declare_reading(Args& a) {
  a.rest("[SOURCE=]INPUT", words).settings(source(), {{"form"}, {"text_field"}, {"url_field"}}).settings(recipe.read);
}

void CorpusFlags::declare(Args& a) {
  declare_reading(a);
  a.flag("--out DIR", out, "output folder").settings(overwriting).settings(recipe.write);
}

void CorpusFlags::declare_stream(Args& a) {
  streams = true;
  a.note("With --out -, rows go to standard output as JSON lines, and what is said to standard error.");
}

void CorpusFlags::declare_checkpoints(Args& a) {
  a.flag("--checkpoint-mib MIB", checkpoint_mib,
         "save progress after every N MiB of input, so that a killed run can resume")
      .alias("--checkpoint-mb");
}

void CorpusFlags::declare_filter(Args& a) {
  a.settings(source(), {{"filter"}, {"language"}, {"license_field"}}).settings(recipe, {{"lists"}});
}

void check_ranges(const std::string& verb, const std::vector<SettingInfo>& settings) {
  for (const SettingInfo& s : settings) {
    const Bounds& range = s.setting.range;
    if (!range.bounded() || s.initial.empty()) continue;
    double value = 0;
    parse_setting(s.initial, value);
    if (bounds_fault(range, value).empty()) continue;
    const std::string expected = range.max == Bounds::kNone ? fmt::format("{} or more", range.min)
                                                            : fmt::format("{} to {}", range.min, range.max);
    throw UsageError(fmt::format("quern {}: {} {}: expected {}", verb, s.flag_names(), s.initial, expected));
  }
}

void CorpusFlags::check_reading(const std::string& verb) const {
  if (words.empty()) throw UsageError(fmt::format("quern {}: name at least one input file or folder", verb));
  if (checkpoint_mib < 1)
    throw UsageError(fmt::format("quern {}: --checkpoint-mib {}: expected 1 or more", verb, checkpoint_mib));
  check_ranges(verb, list_settings(recipe.read));
}

void CorpusFlags::check(const std::string& verb) const {
  check_reading(verb);
  if (out.empty()) throw UsageError(fmt::format("quern {}: --out is missing: expected a folder", verb));
  if (to_stdout() && !streams)
    throw UsageError(fmt::format("quern {}: --out -: this stage writes a folder, not one stream of rows", verb));
  check_ranges(verb, list_settings(recipe.write));
}

void CorpusFlags::check_url(const std::string& verb, const std::string& filter, const corpus::FilterMaker& make,
                            const corpus::Inputs& in) const {
  const bool fields = std::ranges::any_of(in.files, [](const auto& f) { return f.form != corpus::InputForm::warc; });
  if (fields && make && make()->wants_url() && source().url_field.empty())
    throw UsageError(
        fmt::format("quern {}: --filter {} needs --url-field: name the field with the URL", verb, filter));
}

corpus::Inputs CorpusFlags::inputs() const {
  corpus::Inputs in = corpus::find_inputs(words, source().form, "", to_stdout() ? "" : out);
  if (!out.empty() && !to_stdout()) corpus::refuse_input_folder(words, in, out, "--out");
  return in;
}

void CorpusFlags::clear_output(const corpus::Inputs& in) const {
  if (overwriting.overwrite) corpus::replace_finished(std::filesystem::path(out) / "manifest.json", in);
}

corpus::ScanOptions CorpusFlags::scan() const { return corpus::row_scan(recipe); }

corpus::StageOutput CorpusFlags::output() const {
  corpus::StageOutput to = recipe.write.output(out);
  to.checkpoint_bytes = static_cast<uint64_t>(checkpoint_mib) << 20;
  return to;
}

void print_rules(const corpus::FilterReport& r, std::FILE* to) {
  for (size_t i = 0; i < r.rules.size(); ++i)
    if (r.rule_any[i] > 0)
      fmt::print(to, "  {:<20} {:>9} failed it first, {:>9} in all\n", r.rules[i], r.rule_first[i], r.rule_any[i]);
}

void refuse_with_stdout(const std::string& verb, const CorpusFlags& flags, AskedFlags asked) {
  for (const auto& [flag, given] : asked)
    if (flags.to_stdout() && given)
      throw UsageError(fmt::format("quern {}: {} needs an output folder, and --out - has none", verb, flag));
}

int stream_rows(const CorpusFlags& flags, const corpus::Inputs& in, const corpus::FilterRun& run,
                const ReportWords& more) {
  corpus::FilterReport r;
  const auto put = [](std::string_view lines) {
    if (std::fwrite(lines.data(), 1, lines.size(), stdout) != lines.size())
      fail("cannot write to standard output: {}", std::strerror(errno));
  };
  {
    Progress progress;
    r = corpus::filter_lines(in, run, put,
                             [&](uint64_t done, uint64_t total) { progress.share("filter", done, total); });
  }
  if (std::fflush(stdout) != 0) fail("cannot write to standard output: {}", std::strerror(errno));
  warn_about_idle(r.idle_rules);
  warn_about_own_members(r.own_members);
  const int status = warn_about(r.scan.read, r.scan.damaged, in, NamedFiles::all);
  fmt::print(stderr, "{}: kept {} of {} documents{}\n", flags.out, r.kept, r.scan.read.documents,
             more ? more(r) : "");
  print_rules(r, stderr);
  return status;
}

void report_resuming(const std::string& out, const corpus::ResumeInfo& w) {
  if (w.discarded)
    fmt::print(stderr,
               "warning: {} held an unfinished run with another configuration, other inputs or another number of "
               "ranks; removed it\n",
               out);
  if (w.resumed > 0) fmt::print(stderr, "{}: resumed the unfinished run\n", out);
}

void warn_about_idle(const std::vector<std::string>& rules) {
  if (!rules.empty())
    fmt::print(stderr,
               "warning: these rules remove nothing without their word lists: {}; name the folder of the lists "
               "(--lists, or `lists` in a recipe)\n",
               fmt::join(rules, ", "));
}

void warn_about_bands(const corpus::DedupSettings& settings, const char* how) {
  if (const std::string advice = settings.advice(); !advice.empty())
    fmt::print(stderr, "warning: {}; {} chooses it, quern corpus bands shows the table\n", advice, how);
}

void warn_about_own_members(uint64_t rows) {
  if (rows > 0)
    fmt::print(
        stderr,
        "warning: {} rows have a member of the name of an added column with another value; it stays (other names: "
        "--prefix for the columns of annotate, --source-field for the source)\n",
        rows);
}

void warn_about_scope(const corpus::DedupConfig& config, const corpus::Inputs& in) {
  if (config.scope == corpus::Scope::across && in.sources.size() == 1 && config.against.empty())
    fmt::print(stderr,
               "warning: scope across removes duplicates between sources, and there is one source: nothing will be "
               "removed; name sources as SOURCE=PATH (or [[source]] in a recipe), or choose --scope all\n");
}

int warn_about(const corpus::ReadCounts& read, const std::vector<std::string>& damaged, const corpus::Inputs& in,
               NamedFiles named) {
  using corpus::RecordProblem;
  for (const std::string& n : in.notes) fmt::print(stderr, "warning: {}\n", n);
  if (!in.by_products.empty())
    fmt::print(stderr, "left out {} files and folders that earlier runs wrote next to their rows, the first is {}\n",
               in.by_products.size(), in.by_products[0]);
  if (!in.skipped.empty())
    fmt::print(stderr, "warning: skipped {} files of unknown format in the input folders: {}{}\n", in.skipped.size(),
               fmt::join(std::span(in.skipped).first(std::min(kShown, in.skipped.size())), ", "),
               in.skipped.size() > kShown ? " and others" : "");
  if (!in.links.empty())
    fmt::print(
        stderr,
        "left out {} symbolic links in the input folders, to folders, to nothing or to files that are read anyway; "
        "the first is {}\n",
        in.links.size(), in.links[0]);
  std::vector<std::string> reasons;
  for (int p = 0; p < corpus::kRecordProblems; ++p)
    if (const auto problem = static_cast<RecordProblem>(p); corpus::is_bad(problem) && read.problems[p] > 0)
      reasons.push_back(fmt::format("{} {}", read.problems[p], corpus::record_problem_name(problem)));
  if (read.bad() > 0)
    fmt::print(stderr, "warning: skipped {} invalid records ({})\n", read.bad(), fmt::join(reasons, ", "));
  print_examples(read);
  if (read.no_field > 0)
    fmt::print(stderr, "hint: --text-field (text_field in a recipe) names the field of the text\n");
  print_bad_files(read, in, named);
  warn_about_urls(read, in);
  for (const std::string& d : damaged) fmt::print(stderr, "warning: {}\n", d);
  if (read.replaced > 0)
    fmt::print(stderr, "warning: replaced bytes that are not valid UTF-8 by U+FFFD in {} documents\n", read.replaced);
  if (read.unscored > 0)
    fmt::print(
        stderr,
        "warning: {} documents are without a score in the field that was named, and rank below those with one\n",
        read.unscored);
  if (read.guessed > 0)
    fmt::print(stderr, "warning: {} pages are not UTF-8 and say no encoding: the bytes themselves decided\n",
               read.guessed);
  if (read.truncated > 0)
    fmt::print(stderr, "warning: {} documents were cut short where they were stored, the first is {}\n",
               read.truncated, read.first_truncated);
  if (!read.types.empty())
    fmt::print(stderr, "left out {} records that are no web pages: {}\n",
               read.problems[static_cast<int>(RecordProblem::other_type)], corpus::types_in_words(read));
  if (const uint64_t empty = read.problems[static_cast<int>(RecordProblem::empty_page)]; empty > 0)
    fmt::print(stderr, "left out {} web pages without main text\n", empty);
  if (read.mended > 0)
    fmt::print(stderr,
               "warning: fixed {} JSON records that Python wrote: NaN and Infinity became null, halves of surrogate "
               "pairs U+FFFD\n",
               read.mended);
  const std::vector<std::string> lost = corpus::lost_inputs(in, read, damaged);
  for (size_t i = 0; i < lost.size() && i < kShown; ++i)
    fmt::print(stderr, "error: no document could be read from {}\n", lost[i]);
  if (lost.size() > kShown) fmt::print(stderr, "error: nor from {} more input files\n", lost.size() - kShown);
  return lost.empty() ? 0 : 1;
}

Json tool(const char* verb) {
  Json j = Json::object();
  j.set("name", verb), j.set("version", version());
  return j;
}

int report_dedup(const corpus::DedupReport& r, const corpus::Inputs& in, const std::string& out, ReportForm form) {
  report_resuming(out, {r.resumed, r.discarded});
  warn_about_idle(r.idle_rules);
  const int status = warn_about(r.read, r.damaged, in);
  if (r.own_members > 0)
    fmt::print(stderr,
               "warning: {} kept rows have a field of their own that is named like an added one, and keep it; "
               "--source-field "
               "and --cluster-field, or `source_field` and `cluster_field` in [dedup], name others\n",
               r.own_members);
  if (form == ReportForm::text)
    fmt::print(
        "{}: kept {} of {} documents; removed {} exact duplicates and {} near-duplicates in {} clusters, the largest "
        "of {}\n",
        out, r.kept, r.read.documents, r.exact_removed, r.near_removed, r.clusters, r.largest);
  return status;
}

}  // namespace quern::cli
