#include "quern/corpus/stages/recipe.h"

#include <cmath>
#include <set>

#include "quern/base/error.h"
#include "quern/base/toml.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {

namespace {

// Names of filters that are none are told before anything is read. With form auto, only the files say whether a field
// is needed: those of WARC know their URL.
void check_filters(const CorpusRecipe& r) {
  for (const SourceSettings& s : r.source)
    if (const FilterMaker make = find_filter(s.filters(), r.lists);
        make && make()->wants_url() && s.url_field.empty() && s.form != "warc" && s.form != "auto")
      fail("source '{}': filter {} needs a url_field", s.name, s.filter);
}

void check_shares(const CorpusRecipe& r, const std::string& file) {
  double sum = 0;
  for (const SourceSettings& s : r.source) {
    if (!s.share) fail("{}: source '{}' has no share, which [mix] needs", file, s.name);
    if (!(*s.share >= 0) || !std::isfinite(*s.share))
      fail("{}: share of '{}': {}, expected a number from 0 up", file, s.name, *s.share);
    sum += *s.share;
  }
  if (!(sum > 0)) fail("{}: the shares are all 0", file);
}

void check_later_stages(const CorpusRecipe& r, const std::string& file) {
  if (r.mix) check_shares(r, file);
  for (const SourceSettings& s : r.source)
    if (!r.mix && s.share) fail("{}: source '{}' has a share, but there is no [mix]", file, s.name);
  if (r.tokenize && r.tokenize->tokenizer.empty())
    fail("{}: [tokenize]: tokenizer is missing: expected a folder with tokenizer.json", file);
}

}  // namespace

CorpusRecipe CorpusRecipe::load(const std::filesystem::path& file) {
  CorpusRecipe r;
  from_json(read_toml(file), r, file.string(), UnknownKeys::refuse);
  if (r.source.empty()) fail("{}: no [[source]]", file.string());
  std::set<std::string> names;
  for (SourceSettings& s : r.source) {
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
  r.dedup.config();
  check_filters(r);
  return r;
}

Inputs CorpusRecipe::inputs(const std::filesystem::path& own) const {
  Inputs all;
  for (const SourceSettings& s : source) {
    Inputs one = find_inputs(s.paths, s.form, s.name, own);
    for (InputFile& f : one.files) {
      f.source = static_cast<uint32_t>(all.sources.size());
      all.files.push_back(std::move(f));
    }
    all.sources.push_back(s.name);
    all.skipped.insert(all.skipped.end(), one.skipped.begin(), one.skipped.end());
    all.links.insert(all.links.end(), one.links.begin(), one.links.end());
    all.by_products.insert(all.by_products.end(), one.by_products.begin(), one.by_products.end());
  }
  check_inputs(all);
  return all;
}

DedupConfig CorpusRecipe::config() const {
  DedupConfig c = dedup.config();
  c.fields.clear(), c.filters.clear(), c.lists = lists;
  for (const SourceSettings& s : source) c.fields.push_back(s.fields()), c.filters.push_back(s.filters());
  c.read = read.policy();
  const StageOutput to = write.output({});
  c.level = to.level, c.shard_bytes = to.shard_bytes;
  return c;
}

}  // namespace quern::corpus
