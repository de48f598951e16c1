#include "apps/quern/corpus/corpus_flags.h"

#include <filesystem>

#include "quern/base/error.h"
#include "quern/corpus/stages/corpus_build.h"

namespace quern::cli {

void CorpusFlags::declare_reading(Args& a) {
  a.rest("[SOURCE=]INPUT", words).settings(source(), {{"form"}, {"text_field"}, {"url_field"}}).settings(recipe.read);
}

void CorpusFlags::declare(Args& a) {
  declare_reading(a);
  a.flag("--out DIR", out, "output folder").settings(overwriting).settings(recipe.write);
}

void CorpusFlags::declare_checkpoints(Args& a) {
  a.flag("--checkpoint-mib MIB", checkpoint_mib,
         "save progress after every N MiB of input, so that a killed run can resume")
      .alias("--checkpoint-mb");
}

void CorpusFlags::declare_filter(Args& a) { a.settings(source(), {{"filter"}}).settings(recipe, {{"lists"}}); }

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
  check_ranges(verb, list_settings(recipe.write));
}

corpus::Inputs CorpusFlags::inputs() const {
  corpus::Inputs in = corpus::find_inputs(words, source().form, "", out);
  if (!out.empty()) corpus::refuse_input_folder(words, in, out, "--out");
  return in;
}

void CorpusFlags::clear_output(const corpus::Inputs& in) const {
  if (overwriting.overwrite) corpus::remove_finished(out, in);
}

corpus::ScanOptions CorpusFlags::scan() const {
  corpus::ScanOptions o;
  o.fields[0].text = source().text_field, o.fields[0].url = source().url_field, o.read = recipe.read.policy();
  return o;
}

corpus::StageOutput CorpusFlags::output() const {
  corpus::StageOutput to = recipe.write.output(out);
  to.checkpoint_bytes = static_cast<uint64_t>(checkpoint_mib) << 20;
  return to;
}

void report_resuming(const std::string& out, const corpus::ResumeInfo& w) {
  if (w.discarded)
    fmt::print(stderr,
               "warning: {} held an unfinished run with another configuration, other inputs or another number of "
               "ranks; removed it\n",
               out);
  if (w.resumed > 0) fmt::print(stderr, "{}: resumed the unfinished run\n", out);
}

void warn_about(const corpus::ReadCounts& read, const std::vector<std::string>& damaged, const corpus::Inputs& in) {
  using corpus::RecordProblem;
  for (const std::string& n : in.notes) fmt::print(stderr, "warning: {}\n", n);
  if (!in.by_products.empty())
    fmt::print(stderr, "left out {} files and folders that earlier runs wrote beside their rows, the first is {}\n",
               in.by_products.size(), in.by_products[0]);
  if (!in.skipped.empty())
    fmt::print(stderr, "warning: skipped {} files of unknown format in the input folders, the first is {}\n",
               in.skipped.size(), in.skipped[0]);
  uint64_t bad = 0;
  std::vector<std::string> reasons;
  for (RecordProblem p : {RecordProblem::bad_json, RecordProblem::no_text, RecordProblem::bad_utf8,
                          RecordProblem::too_long, RecordProblem::cut})
    if (const uint64_t n = read.problems[static_cast<int>(p)]; n > 0)
      bad += n, reasons.push_back(fmt::format("{} {}", n, corpus::record_problem_name(p)));
  if (bad > 0) fmt::print(stderr, "warning: skipped {} invalid records ({})\n", bad, fmt::join(reasons, ", "));
  for (const std::string& e : read.examples) fmt::print(stderr, "  {}\n", e);
  if (bad > read.examples.size()) fmt::print(stderr, "  and {} more\n", bad - read.examples.size());
  for (const std::string& d : damaged) fmt::print(stderr, "warning: {}\n", d);
  if (read.replaced > 0)
    fmt::print(stderr, "warning: replaced bytes that are not valid UTF-8 by U+FFFD in {} documents\n", read.replaced);
}

}  // namespace quern::cli
