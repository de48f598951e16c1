#include "quern/corpus/stages/recipe.h"

#include <set>

#include "quern/base/error.h"
#include "quern/base/toml.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {

namespace {

void check_later_stages(const CorpusRecipe& r, const std::string& file) {
  for (const SourceRecipe& s : r.source) {
    if (r.mix && !s.share) fail("{}: source '{}' has no share, which [mix] needs", file, s.name);
    if (!r.mix && s.share) fail("{}: source '{}' has a share, but there is no [mix]", file, s.name);
  }
  if (r.mix && !(r.mix->megabytes >= 0)) fail("{}: [mix]: megabytes {}: expected 0 or more", file, r.mix->megabytes);
  if (r.mix && r.mix->shard_mb < 1) fail("{}: [mix]: shard_mb {}: expected 1 or more", file, r.mix->shard_mb);
  if (r.tokenize && r.tokenize->tokenizer.empty())
    fail("{}: [tokenize]: tokenizer is missing: expected a folder with tokenizer.json", file);
}

}  // namespace

CorpusRecipe CorpusRecipe::load(const std::filesystem::path& file) {
  CorpusRecipe r;
  from_json(read_toml(file), r, file.string(), true);
  if (r.source.empty()) fail("{}: no [[source]]", file.string());
  std::set<std::string> names;
  for (SourceRecipe& s : r.source) {
    if (s.name.empty()) fail("{}: a [[source]] without a name", file.string());
    if (!names.insert(s.name).second) fail("{}: two sources are named '{}'", file.string(), s.name);
    if (s.paths.empty()) fail("{}: source '{}' has no paths", file.string(), s.name);
    for (std::string& p : s.paths)
      if (std::filesystem::path(p).is_relative()) p = (file.parent_path() / p).lexically_normal().string();
  }
  if (!r.lists.empty() && std::filesystem::path(r.lists).is_relative())
    r.lists = (file.parent_path() / r.lists).lexically_normal().string();
  if (r.tokenize && !r.tokenize->tokenizer.empty() && std::filesystem::path(r.tokenize->tokenizer).is_relative())
    r.tokenize->tokenizer = (file.parent_path() / r.tokenize->tokenizer).lexically_normal().string();
  check_later_stages(r, file.string());
  r.config();  // names that are none are told before anything is read
  return r;
}

Inputs CorpusRecipe::inputs() const {
  Inputs all;
  for (const SourceRecipe& s : source) {
    Inputs one = find_inputs(s.paths, s.form, s.name);
    for (InputFile& f : one.files) {
      f.source = static_cast<uint32_t>(all.sources.size());
      all.files.push_back(std::move(f));
    }
    all.sources.push_back(s.name);
    all.skipped.insert(all.skipped.end(), one.skipped.begin(), one.skipped.end());
  }
  check_inputs(all);
  return all;
}

DedupConfig CorpusRecipe::config() const {
  DedupConfig c = dedup_preset(dedup.preset, dedup.mode);
  if (dedup.verify) c.verify = parse_verification(*dedup.verify);
  if (dedup.clustering) c.clustering = parse_clustering(*dedup.clustering);
  if (dedup.scope) c.scope = parse_scope(*dedup.scope);
  if (dedup.threshold) c.threshold = *dedup.threshold;
  if (dedup.bands) c.bands.bands = static_cast<int>(*dedup.bands);
  if (dedup.rows_per_band) c.bands.rows = static_cast<int>(*dedup.rows_per_band);
  if (c.bands.bands < 1 || c.bands.rows < 1 || c.bands.bands > 512 || c.bands.rows > 512)
    fail("[dedup]: bands {} and rows_per_band {}: expected 1 to 512 of each", c.bands.bands, c.bands.rows);
  if (dedup.seed) c.sketch.seed = static_cast<uint32_t>(*dedup.seed);
  if (dedup.shingle) c.sketch.shingle = static_cast<int>(*dedup.shingle);
  c.collide_empty = dedup.collide_empty, c.label_late = dedup.label_late;
  if (dedup.memory_mb < 1) fail("[dedup]: memory_mb {}, expected 1 or more", dedup.memory_mb);
  c.memory = static_cast<uint64_t>(dedup.memory_mb) << 20;
  c.fields.clear(), c.filters.clear(), c.lists = lists;
  for (const SourceRecipe& s : source) {
    if (const FilterMaker make = find_filter(s.filter, lists); make && make()->wants_url() && s.url_field.empty())
      fail("source '{}': filter {} needs a url_field", s.name, s.filter);
    FieldMap f;
    f.text = s.text_field, f.score = s.score_field, f.url = s.url_field;
    f.label = s.label_field, f.label_equals = s.label_equals, f.label_at_least = s.label_at_least;
    c.fields.push_back(std::move(f));
    c.filters.push_back(s.filter);
  }
  if (read.on_bad != "skip" && read.on_bad != "stop" && read.on_bad != "replace")
    fail("[read]: on_bad '{}', expected skip, stop or replace", read.on_bad);
  if (read.max_record_mb < 1 || read.max_record_mb > 1024)
    fail("[read]: max_record_mb {}: expected 1 to 1024", read.max_record_mb);
  c.read = {read.on_bad == "stop", read.on_bad == "replace", static_cast<uint64_t>(read.max_record_mb) << 20};
  if (write.level < 1 || write.level > 19) fail("[write]: level {}, expected 1 to 19", write.level);
  if (write.shard_mb < 1) fail("[write]: shard_mb {}, expected 1 or more", write.shard_mb);
  c.level = static_cast<int>(write.level), c.shard_bytes = static_cast<uint64_t>(write.shard_mb) << 20;
  return c;
}

}  // namespace quern::corpus
