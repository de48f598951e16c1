#include "apps/quern/corpus/corpus_flags.h"

namespace quern {

void CorpusFlags::declare_reading(Args& a) {
  a.rest("[SOURCE=]INPUT", words)
      .flag("--form", form, "of the inputs: auto (by ending), jsonl, text, warc or parquet")
      .flag("--text-field", text, "member of a JSON line that holds the text")
      .flag("--url-field", url, "member of a JSON line with the address it comes from")
      .flag("--on-bad", on_bad, "rows that are no documents: skip, stop, or replace (bytes that are no UTF-8)")
      .flag("--max-row-mb", max_row_mb, "longer rows are skipped and counted");
}

void CorpusFlags::declare(Args& a) {
  declare_reading(a);
  a.flag("--out", out, "folder for what is written")
      .flag("--level", level, "of zstd, 1 to 19")
      .flag("--shard-mb", shard_mb, "of text in one output file");
}

void CorpusFlags::declare_notes(Args& a) {
  a.flag("--checkpoint-mb", checkpoint_mb, "of input between two notes of how far the run came");
}

void CorpusFlags::check_reading(const std::string& verb) const {
  if (words.empty()) throw UsageError(fmt::format("quern {}: name at least one input file or folder", verb));
  if (on_bad != "skip" && on_bad != "stop" && on_bad != "replace")
    throw UsageError(fmt::format("quern {}: --on-bad '{}', expected skip, stop or replace", verb, on_bad));
  if (checkpoint_mb < 1) throw UsageError(fmt::format("quern {}: --checkpoint-mb takes 1 or more", verb));
  if (max_row_mb < 1 || max_row_mb > 1024)
    throw UsageError(fmt::format("quern {}: --max-row-mb takes 1 to 1024", verb));
}

void CorpusFlags::check(const std::string& verb) const {
  check_reading(verb);
  if (out.empty()) throw UsageError(fmt::format("quern {}: --out is missing", verb));
  if (level < 1 || level > 19) throw UsageError(fmt::format("quern {}: --level {}, expected 1 to 19", verb, level));
  if (shard_mb < 1) throw UsageError(fmt::format("quern {}: --shard-mb takes 1 or more", verb));
}

corpus::ReadPolicy CorpusFlags::policy() const {
  return {on_bad == "stop", on_bad == "replace", static_cast<uint64_t>(max_row_mb) << 20};
}

corpus::ScanOptions CorpusFlags::scan() const {
  corpus::ScanOptions o;
  o.fields[0].text = text, o.fields[0].url = url, o.read = policy();
  return o;
}

corpus::StageOutput CorpusFlags::output() const {
  return {out, static_cast<int>(level), static_cast<uint64_t>(shard_mb) << 20,
          static_cast<uint64_t>(checkpoint_mb) << 20};
}

void tell_of_resuming(const std::string& out, const corpus::WentOn& w) {
  if (w.discarded)
    fmt::print(stderr,
               "warning: {} held an unfinished run of another configuration, other inputs or another number of "
               "ranks; it was removed\n",
               out);
  if (w.resumed > 0) fmt::print(stderr, "{}: went on with the run that was cut off\n", out);
}

void warn_about(const corpus::ReadCounts& read, const std::vector<std::string>& damaged, const corpus::Inputs& in) {
  using corpus::RowProblem;
  for (const std::string& n : in.notes) fmt::print(stderr, "warning: {}\n", n);
  if (!in.passed_over.empty())
    fmt::print(stderr, "warning: {} files in the named folders are of no known kind and were left alone, {} first\n",
               in.passed_over.size(), in.passed_over[0]);
  uint64_t bad = 0;
  for (RowProblem p :
       {RowProblem::bad_json, RowProblem::no_text, RowProblem::bad_utf8, RowProblem::too_long, RowProblem::cut})
    bad += read.problems[static_cast<int>(p)];
  if (bad > 0) fmt::print(stderr, "warning: {} rows are no documents and were skipped\n", bad);
  for (const std::string& e : read.examples) fmt::print(stderr, "  {}\n", e);
  for (const std::string& d : damaged) fmt::print(stderr, "warning: {}\n", d);
  if (read.replaced > 0)
    fmt::print(stderr, "warning: in {} documents U+FFFD stands for bytes that were no UTF-8\n", read.replaced);
}

}  // namespace quern
