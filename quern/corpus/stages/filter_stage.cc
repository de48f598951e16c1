#include "quern/corpus/stages/filter_stage.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/shards.h"

namespace quern::corpus {
namespace {

struct Sieve {
  std::unique_ptr<DocumentFilter> filter;
  std::unique_ptr<RowColumns> columns;
  int level;
};

struct SiftedLines {  // one block's
  std::string kept, rejected, reasons;
  FilterReport counts;
};

struct Sifted : SiftedLines {
  std::string kept_frame, rejected_frame;
  uint64_t kept_bytes = 0, rejected_bytes = 0;
  void pack(const Sieve& s) {
    kept_bytes = kept.size(), rejected_bytes = rejected.size();
    if (!kept.empty()) zstd_frame(kept, s.level, kept_frame);
    if (!rejected.empty()) zstd_frame(rejected, s.level, rejected_frame);
    kept = {}, rejected = {};
  }
};

// A row that goes on, with its columns.
void keep(const DocumentView& d, const FilterResult& j, const FilterRun& run, const Inputs& in, Sieve& sieve,
          SiftedLines& out) {
  FilterReport& r = out.counts;
  const std::string_view text = run.keep_all ? d.text : j.text;
  ++r.kept, r.changed += j.changed && !run.keep_all, r.kept_bytes += text.size();
  const size_t from = out.kept.size();
  append_document(d, text, out.kept);
  bool own = !run.source_field.empty() &&
             add_source(run.source_field, in.sources[d.source], from, out.kept) == AddedMember::other;
  if (sieve.columns)
    r.labeled += sieve.columns->columns(d, j, [&](const std::string& name, std::string_view value) {
      own = add_member(name, value, from, out.kept) == AddedMember::other || own;
    });
  r.own_members += own;
}

void sift(const DocumentView& d, const FilterRun& run, const Inputs& in, const std::vector<std::string>& rules,
          Sieve& sieve, SiftedLines& out) {
  FilterReport& r = out.counts;
  if (r.rule_any.empty()) r.rule_first.resize(rules.size()), r.rule_any.resize(rules.size());
  FilterResult j{.failing = 0, .text = d.text};
  if (sieve.filter) j = sieve.filter->apply_page(d.text, {.url = d.url, .license = d.license});
  for (uint64_t bits = j.failing; bits; bits &= bits - 1) ++r.rule_any[static_cast<size_t>(__builtin_ctzll(bits))];
  if (j.keep() || run.keep_all) return keep(d, j, run, in, sieve, out);
  ++r.rejected, ++r.rule_first[static_cast<size_t>(j.first())];
  const std::string failing = failing_json(j, rules);
  if (run.rejects) {
    const size_t from = out.rejected.size();
    append_document(d, d.text, out.rejected);
    if (!run.source_field.empty()) add_source(run.source_field, in.sources[d.source], from, out.rejected);
    add_member("failing", failing, from, out.rejected);
  }
  if (run.reasons)
    out.reasons += fmt::format("{{\"row\":{},\"id\":{},\"failing\":{}}}\n", d.number, document_id_json(d), failing);
}

std::unique_ptr<DocumentFilter> made(const FilterRun& run) { return run.make ? run.make() : nullptr; }

// With the mode of a new file: the progress of a run is its owner's alone.
void copy_reasons(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove(to);
  std::ofstream(to).close();
  const std::filesystem::perms mode = std::filesystem::status(to).permissions();
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(to, mode);
}

}  // namespace

void add_counts(const FilterReport& part, FilterReport& all) {
  all.kept += part.kept, all.rejected += part.rejected, all.changed += part.changed;
  all.kept_bytes += part.kept_bytes, all.own_members += part.own_members, all.labeled += part.labeled;
  for (size_t i = 0; i < part.rule_any.size(); ++i)
    all.rule_first[i] += part.rule_first[i], all.rule_any[i] += part.rule_any[i];
}

FilterReport empty_filter_report(const FilterRun& run) {
  FilterReport r;
  if (const std::unique_ptr<DocumentFilter> one = made(run)) {  // its rules may be its own
    for (const char* rule : one->rules()) r.rules.emplace_back(rule);
    for (const char* rule : one->idle_rules()) r.idle_rules.emplace_back(rule);
  }
  r.rule_first.resize(r.rules.size()), r.rule_any.resize(r.rules.size());
  return r;
}

std::string filter_identity(const FilterRun& run, const FilterReport& report) {
  return fmt::format("filter 3 {} {} {} {} {} {} {} {}", run.what, fmt::join(report.rules, ","), run.scan.text(),
                     run.rejects, run.reasons, run.keep_all, run.source_field, run.to.text());
}

Json FilterReport::json() const {
  Json j = Json::object(), bad = Json::array();
  j.set("documents_in", static_cast<int64_t>(scan.read.documents)),
      j.set("documents_out", static_cast<int64_t>(kept));
  j.set("bytes_in", static_cast<int64_t>(scan.read.text_bytes)), j.set("seconds", seconds);
  j.set("rejected", static_cast<int64_t>(rejected)), j.set("changed", static_cast<int64_t>(changed));
  j.set("bytes_out", static_cast<int64_t>(bytes_out)), j.set("own_members", static_cast<int64_t>(own_members));
  j.set("labeled", static_cast<int64_t>(labeled));
  j.set("rules", rules_json(rules, rule_first, rule_any));
  if (!idle_rules.empty()) j.set("idle_rules", write_value(idle_rules));
  j.set("read", scan.read.json());
  for (const std::string& d : scan.damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  return j;
}

void filter_frames(const Inputs& inputs, const FilterRun& run, FilterReport& total, const FilterSinks& sinks,
                   const ScanCallbacks& callbacks) {
  total.scan = scan_documents<Sieve, Sifted>(
      inputs, run.scan,
      [&] {
        return Sieve{made(run), run.columns ? run.columns() : nullptr, run.to.level};
      },
      [&](Sieve& sieve, const DocumentView& d, Sifted& out) { sift(d, run, inputs, total.rules, sieve, out); },
      [&](Sifted&& s) {
        sinks.kept(s.kept_frame, s.kept_bytes);
        if (run.rejects) sinks.rejected(s.rejected_frame, s.rejected_bytes);
        sinks.reasons(s.reasons);
        add_counts(s.counts, total);
      },
      callbacks);
}

FilterReport filter_corpus(const Inputs& inputs, const FilterRun& run, const ScanProgress& progress,
                           const std::function<void(const FilterReport&)>& finish) {
  QUERN_CHECK(!run.what.empty());
  const Stopwatch watch;
  const StageOutput& to = run.to;
  refuse_finished(to.folder);
  FilterReport total = empty_filter_report(run);
  StageRun stage(to.folder, inputs, filter_identity(run, total), to.checkpoint_bytes);
  total.went_on = stage.went_on();
  ShardPosition kept, rejected;
  uint64_t reason_bytes = 0;
  if (const Json* from = stage.state()) {
    read_state(from->at("kept"), kept), read_state(from->at("rejected"), rejected);
    read_state(from->at("reasons"), reason_bytes), read_state(from->at("report"), total);
  } else {
    prepare_output(to.folder);
  }
  ShardWriter parts(to.folder, "part", to.level, to.shard_bytes, kept);
  ShardWriter rejects(to.folder, "reject", to.level, to.shard_bytes, rejected);
  SpillFile reasons = SpillFile::named(stage.file("reasons"), reason_bytes);
  filter_frames(inputs, run, total,
                {.kept = [&](std::string_view frame, uint64_t bytes) { parts.write_frame(frame, bytes); },
                 .rejected = [&](std::string_view frame, uint64_t bytes) { rejects.write_frame(frame, bytes); },
                 .reasons = [&](std::string_view lines) { reasons.append(lines.data(), lines.size()); }},
                {progress, stage.notes("filter", [&](Json& state) {
                   reasons.flush();
                   state.set("kept", write_value(parts.position())),
                       state.set("rejected", write_value(rejects.position()));
                   state.set("reasons", write_value(reasons.size())), state.set("report", write_value(total));
                 })});
  parts.close();
  if (run.rejects) rejects.close();
  if (run.reasons) {
    list_file(to.folder / RunFolder::kName, {"reasons.jsonl"});
    copy_reasons(stage.file("reasons"), to.folder / "reasons.jsonl");
  }
  total.bytes_out = parts.bytes_out();
  total.seconds = watch.seconds();
  if (finish) finish(total);
  stage.remove();
  return total;
}

FilterReport filter_lines(const Inputs& inputs, const FilterRun& run,
                          const std::function<void(std::string_view)>& put, const ScanProgress& progress) {
  const Stopwatch watch;
  FilterReport total = empty_filter_report(run);
  total.scan = scan_documents<Sieve, SiftedLines>(
      inputs, run.scan,
      [&] {
        return Sieve{made(run), run.columns ? run.columns() : nullptr, 0};
      },
      [&](Sieve& sieve, const DocumentView& d, SiftedLines& out) { sift(d, run, inputs, total.rules, sieve, out); },
      [&](SiftedLines&& s) {
        put(s.kept);
        total.bytes_out += s.kept.size();
        add_counts(s.counts, total);
      },
      {progress, {}});
  total.seconds = watch.seconds();
  return total;
}

}  // namespace quern::corpus
