#include "apps/quern/corpus/corpus_flags.h"

namespace quern {

void CorpusFlags::declare_reading(Args& a) {
  a.rest("[SOURCE=]INPUT", words)
      .flag("--form FORMAT", form, "input format: auto (by file name), jsonl, text, warc or parquet")
      .flag("--text-field NAME", text, "field of a JSON line that holds the text")
      .flag("--url-field NAME", url, "field of a JSON line that holds the URL of the document")
      .flag("--on-bad ACTION", on_bad,
            "what to do with invalid records: skip, stop, or replace (bytes that are not valid UTF-8, by U+FFFD)")
      .flag("--max-record-mib MIB", max_record_mb,
            "maximum record size in MiB; longer records are skipped and counted")
      .alias("--max-row-mb");
}

void CorpusFlags::declare(Args& a) {
  declare_reading(a);
  a.flag("--out DIR", out, "output folder")
      .flag("--level N", level, "zstd compression level, 1 to 19")
      .flag("--shard-mib MIB", shard_mb, "uncompressed text per output file, in MiB")
      .alias("--shard-mb");
}

void CorpusFlags::declare_checkpoints(Args& a) {
  a.flag("--checkpoint-mib MIB", checkpoint_mb,
         "save progress after every N MiB of input, so that a killed run can resume")
      .alias("--checkpoint-mb");
}

void CorpusFlags::check_reading(const std::string& verb) const {
  if (words.empty()) throw UsageError(fmt::format("quern {}: name at least one input file or folder", verb));
  if (on_bad != "skip" && on_bad != "stop" && on_bad != "replace")
    throw UsageError(fmt::format("quern {}: --on-bad '{}': expected skip, stop or replace", verb, on_bad));
  if (checkpoint_mb < 1)
    throw UsageError(fmt::format("quern {}: --checkpoint-mib {}: expected 1 or more", verb, checkpoint_mb));
  if (max_record_mb < 1 || max_record_mb > 1024)
    throw UsageError(fmt::format("quern {}: --max-record-mib {}: expected 1 to 1024", verb, max_record_mb));
}

void CorpusFlags::check(const std::string& verb) const {
  check_reading(verb);
  if (out.empty()) throw UsageError(fmt::format("quern {}: --out is missing: expected a folder", verb));
  if (level < 1 || level > 19) throw UsageError(fmt::format("quern {}: --level {}: expected 1 to 19", verb, level));
  if (shard_mb < 1) throw UsageError(fmt::format("quern {}: --shard-mib {}: expected 1 or more", verb, shard_mb));
}

corpus::ReadPolicy CorpusFlags::policy() const {
  return {on_bad == "stop", on_bad == "replace", static_cast<uint64_t>(max_record_mb) << 20};
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
  if (!in.skipped.empty())
    fmt::print(stderr, "warning: skipped {} files of unknown format in the input folders, the first is {}\n",
               in.skipped.size(), in.skipped[0]);
  uint64_t bad = 0;
  for (RecordProblem p : {RecordProblem::bad_json, RecordProblem::no_text, RecordProblem::bad_utf8,
                          RecordProblem::too_long, RecordProblem::cut})
    bad += read.problems[static_cast<int>(p)];
  if (bad > 0) fmt::print(stderr, "warning: skipped {} invalid records\n", bad);
  for (const std::string& e : read.examples) fmt::print(stderr, "  {}\n", e);
  for (const std::string& d : damaged) fmt::print(stderr, "warning: {}\n", d);
  if (read.replaced > 0)
    fmt::print(stderr, "warning: replaced bytes that are not valid UTF-8 by U+FFFD in {} documents\n", read.replaced);
}

}  // namespace quern
