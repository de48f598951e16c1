#include "quern/corpus/stages/build.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/dedup/html_report.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/shards.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = kLaterStages;
constexpr size_t kMaxParts = 100'000;  // part-00000 to part-99999 are in order by name

// part-*.jsonl.zst of a folder.
Inputs parts_of(const fs::path& folder) {
  std::vector<std::string> words;
  for (const auto& e : fs::directory_iterator(folder)) {
    const std::string name = e.path().filename().string();
    if (name.starts_with("part-") && name.ends_with(".jsonl.zst")) words.push_back(e.path().string());
  }
  if (words.size() > kMaxParts)
    fail("{}: {} files: expected at most {} for [mix] and [tokenize]; set a larger shard_mb", folder.string(),
         words.size(), kMaxParts);
  return find_inputs(words, "jsonl", "kept");
}

// Deduplication keeps the order of the sources: the rows of each are a range.
Inputs kept_documents(const CorpusRecipe& recipe, const std::vector<uint64_t>& kept, const fs::path& out) {
  QUERN_CHECK(kept.size() == recipe.source.size(), "{} counts for {} sources", kept.size(), recipe.source.size());
  Inputs in = parts_of(out);
  in.sources.clear();
  uint64_t end = 0;
  for (size_t s = 0; s < kept.size(); ++s) {
    in.sources.push_back(recipe.source[s].name);
    in.source_ends.push_back(end += kept[s]);
  }
  return in;
}

// The field that holds the text in deduplication's output: JSON lines stay as they are, other forms become "text".
std::string kept_field(const SourceSettings& s, const Inputs& inputs) {
  const auto source = static_cast<uint32_t>(std::ranges::find(inputs.sources, s.name) - inputs.sources.begin());
  bool lines = false, others = false;
  for (const InputFile& f : inputs.files)
    if (f.source == source) (is_lines(f.form) ? lines : others) = true;
  if (lines && others && s.text_field != "text")
    fail("source '{}': has JSON lines with text_field '{}' and files of another form; make them two sources", s.name,
         s.text_field);
  return lines ? s.text_field : "text";
}

// Written by this build: a record that cannot be read is an error, and lines may be longer than those of the inputs.
ScanOptions scan_of(std::vector<FieldMap> fields) {
  return {.fields = std::move(fields), .read = {.stop_on_bad = true, .max_row = uint64_t{1} << 30}};
}

Json with_settings(Json report, const char* key, const Json& settings) {
  report.set(key, settings);
  return report;
}

// The one page of the whole run gets what came behind deduplication.
void add_to_report(const CorpusRecipe& recipe, const fs::path& out) {
  const fs::path file = out / "report.html";
  if (!fs::exists(file)) return;
  std::optional<Json> mixed, tokens;
  if (recipe.mix) mixed = Json::read(out / "mixed/manifest.json");
  if (recipe.tokenize) tokens = Json::read(out / "tokens.json");
  write_file(file, with_later_stages(read_file(file), mixed ? &*mixed : nullptr, tokens ? &*tokens : nullptr));
}

std::vector<FieldMap> kept_fields(const BuildFolder& b) {
  std::vector<FieldMap> fields(b.recipe.source.size());
  for (size_t s = 0; s < fields.size(); ++s) fields[s].text = kept_field(b.recipe.source[s], b.raw);
  return fields;
}

}  // namespace

MixJob mix_job(const BuildFolder& b) {
  const MixSettings& m = *b.recipe.mix;
  MixJob job{kept_documents(b.recipe, b.state.kept, b.out), scan_of(kept_fields(b)), m.config()};
  for (const SourceSettings& s : b.recipe.source) job.config.shares.emplace_back(s.name, s.share.value());
  job.config.line = MixedLine::named;
  job.config.to = WriteSettings{.level = b.recipe.write.level, .shard_mb = m.shard_mb}.output(b.out / "mixed");
  return job;
}

// Mixed documents are of all sources, each with the name of its own; otherwise every file is of one.
TokenJob token_job(const BuildFolder& b) {
  const TokenizeSettings& t = *b.recipe.tokenize;
  const bool mixed = b.recipe.mix.has_value();
  return {.inputs = mixed ? parts_of(b.out / "mixed") : kept_documents(b.recipe, b.state.kept, b.out),
          .run = {.scan = scan_of(mixed ? std::vector<FieldMap>{FieldMap()} : kept_fields(b)),
                  .end_token = t.end_token,
                  .tokenizer = tokenizer_hash(t.tokenizer),
                  .prefix = b.out / "tokens",
                  .own_sources = mixed,
                  .rows = t.rows},
          .tokenizer = t.tokenizer};
}

Json mix_json(const CorpusRecipe& recipe, const MixReport& report) {
  MixSettings m = *recipe.mix;
  return with_settings(report.json(), "mix", write_value(m));
}

Json tokens_json(const CorpusRecipe& recipe, const TokenShardReport& report) {
  TokenizeSettings t = *recipe.tokenize;
  return with_settings(report.json(), "tokenize", write_value(t));
}

void end_build(const CorpusRecipe& recipe, const fs::path& out) {
  if (recipe.mix) remove_work(out / "mixed" / RunFolder::kName);  // of a process killed behind its manifest
  if (recipe.tokenize) remove_work(out / "tokens.unfinished");
  add_to_report(recipe, out);
  remove_work(out / RunFolder::kName);  // with the build that this one takes the place of
  fs::remove(out / kState);
}

bool has_later_stages(const CorpusRecipe& recipe) { return recipe.mix || recipe.tokenize; }

std::optional<BuildState> plan_build(const CorpusRecipe& recipe, const DedupConfig& dedup, const Inputs& inputs) {
  if (!has_later_stages(recipe)) return {};
  for (const SourceSettings& s : recipe.source) kept_field(s, inputs);
  if (recipe.tokenize && !fs::exists(fs::path(recipe.tokenize->tokenizer) / "tokenizer.json"))
    fail("[tokenize]: tokenizer '{}': expected a folder with tokenizer.json", recipe.tokenize->tokenizer);
  return BuildState{
      run_identity(inputs, "build 2 " + write_value(recipe).dump() + dedup.json().dump() + dedup.models_text()),
      {},
      {}};
}

std::optional<BuildState> saved_build(const fs::path& out, const std::string& identity) {
  BuildState s;
  if (fs::exists(out / kState)) read_field(Json::read(out / kState), s, kState, FieldPresence::optional);
  const bool done = fs::exists(out / "manifest.json");
  if (done && s.identity == identity) return s;
  for (const char* other : {"mixed", "tokens.json"})
    if (!done && fs::exists(out / other))
      fail("{} exists already, of another build: name another folder", (out / other).string());
  return {};
}

void save_build(const fs::path& out, const BuildState& state) { write_file(out / kState, write_value(state).dump()); }

BuildReport run_later_stages(const CorpusRecipe& recipe, const BuildState& state, const fs::path& out,
                             const BuildProgress& progress) {
  const auto progress_of = [&](const char* stage) -> ScanProgress {
    return [&progress, stage](uint64_t bytes, uint64_t total) {
      if (progress) progress(stage, bytes, total);
    };
  };
  BuildReport r;
  const Inputs raw = recipe.inputs(out);
  const BuildFolder build{recipe, state, raw, out};
  if (recipe.mix && !fs::exists(out / "mixed/manifest.json")) {
    const MixJob job = mix_job(build);
    r.mix = mix_corpus(job.inputs, job.scan, job.config, progress_of("mix"), [&](const MixReport& report) {
      write_manifest(job.config.to.folder, mix_json(recipe, report));
    });
  }
  if (recipe.tokenize && !fs::exists(out / "tokens.json")) {
    const TokenJob job = token_job(build);
    r.tokens = write_token_shards(job.inputs, text::Tokenizer::load(job.tokenizer), job.run, progress_of("tokenize"),
                                  [&](const TokenShardReport& report) {
                                    const fs::path file = out / "tokens.json";
                                    const Json j = with_files(tokens_json(recipe, report), unfinished_of(file));
                                    write_file(file, j.dump(2) + "\n");
                                  });
  }
  end_build(recipe, out);
  return r;
}

}  // namespace quern::corpus
