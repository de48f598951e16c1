#include "quern/corpus/filters/filters.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/filters/filter_registry.h"
#include "quern/corpus/filters/zyda_filter.h"
#include "quern/corpus/io/json_line.h"

namespace quern::corpus {
namespace {

struct BuiltInFilter {
  const char* name;
  FilterMaker (*make)(const std::string& lists);  // or arguments
};
constexpr BuiltInFilter kFilters[] = {{"zyda", zyda_filter},
                                      {"gopher-quality", gopher_quality_filter},
                                      {"gopher-repetition", gopher_repetition_filter},
                                      {"c4", c4_filter},
                                      {"c4-any-end", c4_any_end_filter},
                                      {"fineweb", fineweb_filter},
                                      {"mojibake", mojibake_filter},
                                      {"pii", pii_filter},
                                      {"url", url_filter}};

// Named with arguments: NAME:ARGUMENTS.
constexpr BuiltInFilter kModelFilters[] = {
    {"language", language_filter}, {"fasttext", fasttext_filter},    {"classifier", classifier_filter},
    {"label", label_filter},       {"education", education_filter},  {"reading-level", reading_level_filter},
    {"grader", grader_filter},     {"pii", pii_kinds_filter},        {"no-pii", no_pii_filter},
    {"license", license_filter},   {"no-license", no_license_filter}};

constexpr const char* kModelFilterForms[] = {"language:CODES:MIN",   "fasttext:MODEL:LABEL:MIN",
                                             "classifier:MODEL:MIN", "label:MODEL:LABELS:MIN",
                                             "education:MIN",        "reading-level:MAX",
                                             "grader:FILE:MIN",      "pii:KINDS",
                                             "no-pii:KINDS",         "license:IDS",
                                             "no-license:IDS"};

// Several filters behind each other: each sees the text the one before it leaves, all of them judge, so that every
// rule that rejects is told.
class FilterChain : public DocumentFilter {
 public:
  explicit FilterChain(const std::vector<FilterMaker>& makers) {
    for (const FilterMaker& make : makers) {
      links_.push_back(make());
      for (const char* r : links_.back()->rules()) rules_.push_back(r);
    }
    if (rules_.size() > 64) fail("a chain of filters with {} rules, at most 64", rules_.size());
  }
  std::span<const char* const> rules() const override { return rules_; }
  FilterResult apply(std::string_view utf8) override { return apply_page(utf8, {}); }
  FilterResult apply_page(std::string_view utf8, const DocumentOrigin& origin) override {
    FilterResult all;
    all.text = utf8;
    size_t rule = 0;
    for (size_t i = 0; i < links_.size(); ++i) {
      const FilterResult j = links_[i]->apply_page(all.text, origin);
      if (const size_t n = links_[i]->rules().size(); n > 0) all.failing |= j.failing << rule, rule += n;
      all.changed = all.changed || j.changed;
      all.text = j.text;
    }
    return all;
  }
  std::vector<const char*> idle_rules() const override {
    std::vector<const char*> idle;
    for (const auto& l : links_)
      for (const char* rule : l->idle_rules()) idle.push_back(rule);
    return idle;
  }
  bool wants_url() const override {
    return std::any_of(links_.begin(), links_.end(), [](const auto& l) { return l->wants_url(); });
  }

 private:
  std::vector<std::unique_ptr<DocumentFilter>> links_;
  std::vector<const char*> rules_;
};

template <size_t N>
const BuiltInFilter* built_in(const BuiltInFilter (&filters)[N], std::string_view name) {
  const auto* at = std::ranges::find(filters, name, [](const BuiltInFilter& f) { return std::string_view(f.name); });
  return at == std::end(filters) ? nullptr : at;
}

// Where the link of a chain that begins at `at` ends: at a + with another link behind it, not at that of GPL-2.0+.
size_t link_end(const std::string& chain, size_t at) {
  for (size_t i = at; (i = chain.find('+', i)) != chain.npos; ++i)
    if (i + 1 < chain.size() && chain[i + 1] != ',' && chain[i + 1] != '+') return i;
  return chain.size();
}

// NAME or NAME:ARGUMENTS.
FilterMaker find_one(const std::string& one, const std::string& lists) {
  const size_t colon = std::min(one.find(':'), one.size());
  const bool arguments = colon < one.size();
  const std::string name = one.substr(0, colon), rest = arguments ? one.substr(colon + 1) : "";
  if (const BuiltInFilter* f = arguments ? built_in(kModelFilters, name) : built_in(kFilters, name))
    return f->make(arguments ? rest : lists);
  if (const NamedFilter* f = plugin_filters().find(name)) return f->make({lists, rest});
  if (arguments) fail("filter '{}': expected {}", one, fmt::join(kModelFilterForms, ", "));
  std::vector<std::string> known = filter_names();
  for (const NamedFilter& f : plugin_filters().filters()) known.push_back(f.name);
  fail("filter '{}': expected one of {}, or several with + between{}", one, fmt::join(known, ", "),
       did_you_mean(one, known));
}

}  // namespace

std::vector<std::string> filter_names() {
  std::vector<std::string> names = {"none"};
  for (const BuiltInFilter& f : kFilters) names.emplace_back(f.name);
  names.insert(names.end(), std::begin(kModelFilterForms), std::end(kModelFilterForms));
  return names;
}

std::string filter_models_text(const std::string& name, const std::string& lists) {
  std::string all;
  if (std::filesystem::is_directory(lists)) {
    std::set<std::filesystem::path> files;
    for (const auto& e : std::filesystem::directory_iterator(lists))
      if (e.is_regular_file()) files.insert(e.path());
    for (const auto& file : files) all += fmt::format("{} {:016x} ", file.filename().string(), file_hash(file));
  }
  for (size_t at = 0; at <= name.size();) {
    const size_t end = link_end(name, at);
    const std::string one = name.substr(at, end - at);
    at = end + 1;
    const size_t colon = one.find(':');
    if (colon == one.npos) continue;
    // A path, which may hold colons, and then arguments.
    for (size_t cut = one.size(); cut != one.npos && cut > colon; cut = one.rfind(':', cut - 1))
      if (const std::string file = one.substr(colon + 1, cut - colon - 1); std::filesystem::is_regular_file(file)) {
        all += fmt::format("{:016x} ", file_hash(file));
        break;
      }
  }
  return all;
}

FilterMaker find_filter(const std::string& name, const std::string& lists) {
  if (name == "none") return {};
  std::vector<FilterMaker> chain;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = link_end(name, at);
    chain.push_back(find_one(name.substr(at, end - at), lists));
    at = end + 1;
  }
  if (chain.size() == 1) return chain[0];
  FilterChain whole(chain);  // too many rules are told now
  return [chain] { return std::make_unique<FilterChain>(chain); };
}

std::string failing_json(const FilterResult& r, const std::vector<std::string>& rules) {
  std::string all = "[";
  for (uint64_t bits = r.failing; bits; bits &= bits - 1) {
    if (bits != r.failing) all += ',';
    append_json_string(all, rules[static_cast<size_t>(__builtin_ctzll(bits))]);
  }
  return all + "]";
}

Json rules_json(const std::vector<std::string>& rules, const std::vector<uint64_t>& first,
                const std::vector<uint64_t>& any) {
  Json list = Json::array();
  for (size_t i = 0; i < rules.size(); ++i) {
    Json one = Json::object();
    one.set("rule", rules[i]), one.set("first", static_cast<int64_t>(first[i]));
    one.set("any", static_cast<int64_t>(any[i]));
    list.push(std::move(one));
  }
  return list;
}

}  // namespace quern::corpus
