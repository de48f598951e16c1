#include "quern/corpus/filters/filters.h"

#include <algorithm>
#include <iterator>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/filters/zyda_filter.h"

namespace quern::corpus {
namespace {

struct NamedFilter {
  const char* name;
  FilterMaker (*make)(const std::string& lists);  // or arguments
};
constexpr NamedFilter kFilters[] = {{"zyda", zyda_filter},
                                    {"gopher-quality", gopher_quality_filter},
                                    {"gopher-repetition", gopher_repetition_filter},
                                    {"c4", c4_filter},
                                    {"c4-any-end", c4_any_end_filter},
                                    {"fineweb", fineweb_filter},
                                    {"pii", pii_filter},
                                    {"url", url_filter}};

// Named with arguments: NAME:ARGUMENTS.
constexpr NamedFilter kModelFilters[] = {{"fasttext", fasttext_filter}, {"classifier", classifier_filter}};

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
  FilterResult apply_page(std::string_view utf8, std::string_view url) override {
    FilterResult all;
    all.text = utf8;
    size_t rule = 0;
    for (size_t i = 0; i < links_.size(); ++i) {
      const FilterResult j = links_[i]->apply_page(all.text, url);
      if (const size_t n = links_[i]->rules().size(); n > 0) all.failing |= j.failing << rule, rule += n;
      all.changed = all.changed || j.changed;
      all.text = j.text;
    }
    return all;
  }
  bool wants_url() const override {
    return std::any_of(links_.begin(), links_.end(), [](const auto& l) { return l->wants_url(); });
  }

 private:
  std::vector<std::unique_ptr<DocumentFilter>> links_;
  std::vector<const char*> rules_;
};

}  // namespace

std::vector<std::string> filter_names() {
  std::vector<std::string> names = {"none"};
  for (const NamedFilter& f : kFilters) names.emplace_back(f.name);
  names.insert(names.end(), {"fasttext:MODEL:LABEL:MIN", "classifier:MODEL:MIN"});
  return names;
}

FilterMaker find_filter(const std::string& name, const std::string& lists) {
  if (name == "none") return {};
  std::vector<FilterMaker> chain;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('+', at), name.size());
    const std::string one = name.substr(at, end - at);
    if (const size_t colon = one.find(':'); colon != one.npos) {
      const auto model = std::find_if(std::begin(kModelFilters), std::end(kModelFilters),
                                      [&](const NamedFilter& f) { return one.substr(0, colon) == f.name; });
      if (model == std::end(kModelFilters))
        fail("filter '{}': expected fasttext:MODEL:LABEL:MIN or classifier:MODEL:MIN", one);
      chain.push_back(model->make(one.substr(colon + 1)));
      at = end + 1;
      continue;
    }
    const auto known =
        std::find_if(std::begin(kFilters), std::end(kFilters), [&](const NamedFilter& f) { return one == f.name; });
    if (known == std::end(kFilters))
      fail("filter '{}': expected one of {}, or several with + between{}", one, fmt::join(filter_names(), ", "),
           did_you_mean(one, filter_names()));
    chain.push_back(known->make(lists));
    at = end + 1;
  }
  if (chain.size() == 1) return chain[0];
  FilterChain whole(chain);  // too many rules are told now
  return [chain] { return std::make_unique<FilterChain>(chain); };
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
