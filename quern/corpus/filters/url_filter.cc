// Filters pages by URL, with lists that users bring in FOLDER/url (a folder of word lists), one entry per line.
//   domains.txt  a host or a domain: example.org also matches www.example.org, never badexample.org
//   urls.txt     whole addresses, without scheme and trailing slash
//   words.txt    words anywhere in the address, without a letter or digit before or after
// Matching ignores case. A document without URL passes. Cost: two hash lookups and one pass over the URL.
#include <filesystem>
#include <set>

#include "quern/base/error.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/text/aho_corasick.h"
#include "quern/corpus/text/word_lists.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::corpus {
namespace {

using text::ascii_lowercase;

constexpr const char* kRules[] = {"url_domain", "url_listed", "url_word"};

struct UrlLists {
  std::set<std::string, std::less<>> domains, urls;
  std::vector<std::string> words;
  AhoCorasick automaton;
};

bool word_byte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80); }

std::string_view without_scheme(std::string_view url) {
  if (const size_t at = url.find("://"); at != url.npos) url.remove_prefix(at + 3);
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

class UrlFilter : public DocumentFilter {
 public:
  explicit UrlFilter(std::shared_ptr<const UrlLists> lists) : lists_(std::move(lists)) {}
  std::span<const char* const> rules() const override { return kRules; }
  bool wants_url() const override { return true; }
  std::vector<const char*> idle_rules() const override {
    std::vector<const char*> idle;
    if (lists_->domains.empty()) idle.push_back(kRules[0]);
    if (lists_->urls.empty()) idle.push_back(kRules[1]);
    if (lists_->words.empty()) idle.push_back(kRules[2]);
    return idle;
  }
  FilterResult apply(std::string_view utf8) override { return apply_page(utf8, {}); }
  FilterResult apply_page(std::string_view utf8, const DocumentOrigin& origin) override {
    const std::string_view url = origin.url;
    FilterResult j;
    j.text = utf8;
    if (url.empty()) return j;
    const std::string all = ascii_lowercase(url);
    const std::string_view bare = without_scheme(all);
    std::string_view host = bare.substr(0, bare.find_first_of("/?#"));
    if (const size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
    host = host.substr(0, host.find(':'));
    bool domain = false, word = false;
    for (std::string_view h = host; !domain && !h.empty();) {
      domain = lists_->domains.contains(h);
      const size_t dot = h.find('.');
      h = dot == h.npos ? std::string_view() : h.substr(dot + 1);
    }
    lists_->automaton.scan(all, [&](uint32_t w, size_t end) {
      const size_t begin = end - lists_->words[w].size();
      word = word || ((begin == 0 || !word_byte(all[begin - 1])) && (end == all.size() || !word_byte(all[end])));
    });
    j.failing = uint64_t{domain} | uint64_t{lists_->urls.contains(bare)} << 1 | uint64_t{word} << 2;
    return j;
  }

 private:
  std::shared_ptr<const UrlLists> lists_;
};

}  // namespace

FilterMaker url_filter(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path at = fs::path(folder) / "url";
  if (folder.empty() || !fs::is_directory(at))
    fail("filter url: name a folder of word lists with url/domains.txt, url/urls.txt or url/words.txt{}",
         folder.empty() ? "" : fmt::format("; {} is not a folder", at.string()));
  auto lists = std::make_shared<UrlLists>();
  int found = 0;
  const auto read = [&](const char* name, auto&& put) {
    if (!fs::exists(at / name)) return;
    ++found;
    for (const std::string& e : read_word_list(at / name)) put(ascii_lowercase(e));
  };
  read("domains.txt", [&](const std::string& e) { lists->domains.insert(e); });
  read("urls.txt", [&](const std::string& e) { lists->urls.emplace(without_scheme(e)); });
  std::set<std::string> words;
  read("words.txt", [&](const std::string& e) { words.insert(e); });
  if (found == 0) fail("{} contains none of domains.txt, urls.txt and words.txt", at.string());
  lists->words.assign(words.begin(), words.end());
  lists->automaton = AhoCorasick(lists->words);
  return [lists] { return std::make_unique<UrlFilter>(lists); };
}

}  // namespace quern::corpus
