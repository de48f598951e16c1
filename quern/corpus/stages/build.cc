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

MixReport mix(const CorpusRecipe& recipe, const Inputs& in, const ScanOptions& scan, const fs::path& to,
              const ScanProgress& progress) {
  const MixSettings& m = *recipe.mix;
  MixConfig c = m.config();
  for (const SourceSettings& s : recipe.source) c.shares.emplace_back(s.name, s.share.value());
  c.line = MixedLine::named;
  c.to = WriteSettings{.level = recipe.write.level, .shard_mb = m.shard_mb}.output(to);
  return mix_corpus(in, scan, c, progress, [&](const MixReport& report) {
    write_manifest(to, with_settings(report.json(), "mix", write_value(m)));
  });
}

// `mixed`: documents of all sources, each with the name of its own; otherwise every file is of one.
TokenShardReport tokenize(const TokenizeSettings& t, const Inputs& in, bool mixed, const ScanOptions& scan,
                          const fs::path& prefix, const ScanProgress& progress) {
  const TokenRun run{.scan = scan,
                     .end_token = t.end_token,
                     .tokenizer = fmt::format("{:016x}", file_hash(fs::path(t.tokenizer) / "tokenizer.json")),
                     .prefix = prefix,
                     .own_sources = mixed,
                     .rows = t.rows};
  return write_token_shards(in, text::Tokenizer::load(t.tokenizer), run, progress,
                            [&](const TokenShardReport& report) {
                              const fs::path file = prefix.string() + ".json";
                              const Json j = with_settings(report.json(), "tokenize", write_value(t));
                              write_file(file, with_files(j, unfinished_of(file)).dump(2) + "\n");
                            });
}

}  // namespace

namespace {

// The one page of the whole run gets what came behind deduplication.
void add_to_report(const CorpusRecipe& recipe, const fs::path& out) {
  const fs::path file = out / "report.html";
  if (!fs::exists(file)) return;
  std::optional<Json> mixed, tokens;
  if (recipe.mix) mixed = Json::read(out / "mixed/manifest.json");
  if (recipe.tokenize) tokens = Json::read(out / "tokens.json");
  write_file(file, with_later_stages(read_file(file), mixed ? &*mixed : nullptr, tokens ? &*tokens : nullptr));
}

}  // namespace

bool has_later_stages(const CorpusRecipe& recipe) { return recipe.mix || recipe.tokenize; }

std::optional<BuildState> plan_build(const CorpusRecipe& recipe, const DedupConfig& dedup, const Inputs& inputs) {
  if (!has_later_stages(recipe)) return {};
  for (const SourceSettings& s : recipe.source) kept_field(s, inputs);
  if (recipe.tokenize && !fs::exists(fs::path(recipe.tokenize->tokenizer) / "tokenizer.json"))
    fail("[tokenize]: tokenizer '{}': expected a folder with tokenizer.json", recipe.tokenize->tokenizer);
  return BuildState{run_identity(inputs, "build 2 " + write_value(recipe).dump() + dedup.json().dump() + dedup.models_text()), {}};
}

std::optional<BuildState> saved_build(const fs::path& out, const std::string& identity) {
  BuildState s;
  if (fs::exists(out / kState)) read_state(Json::read(out / kState), s);
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
  Inputs in = kept_documents(recipe, state.kept, out);
  std::vector<FieldMap> fields(recipe.source.size());
  const Inputs raw = recipe.inputs(out);
  for (size_t s = 0; s < fields.size(); ++s) fields[s].text = kept_field(recipe.source[s], raw);
  if (recipe.mix) {
    const fs::path mixed = out / "mixed";
    if (!fs::exists(mixed / "manifest.json")) r.mix = mix(recipe, in, scan_of(fields), mixed, progress_of("mix"));
    remove_work(mixed / RunFolder::kName);  // of a process killed behind its manifest
    in = parts_of(mixed), fields = {FieldMap()};
  }
  if (recipe.tokenize) {
    const fs::path prefix = out / "tokens";
    if (!fs::exists(prefix.string() + ".json"))
      r.tokens =
          tokenize(*recipe.tokenize, in, recipe.mix.has_value(), scan_of(fields), prefix, progress_of("tokenize"));
    remove_work(prefix.string() + ".unfinished");
  }
  add_to_report(recipe, out);
  remove_work(out / RunFolder::kName);  // with the build that this one takes the place of
  fs::remove(out / kState);
  return r;
}

}  // namespace quern::corpus
