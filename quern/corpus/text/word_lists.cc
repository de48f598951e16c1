#include "quern/corpus/text/word_lists.h"

#include <algorithm>
#include <map>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/nearest.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
std::vector<std::string> read_word_list(const std::filesystem::path& file) {
  std::vector<std::string> entries;
  if (file.extension() == ".json") {
    const Json j = Json::read(file.string());
    for (const Json& w : j.at("words").as_array(file.string() + ", words"))
      entries.push_back(w.as_string(file.string() + ", words"));
  } else {
    const std::string all = read_file(file.string());
    for (size_t at = 0; at < all.size();) {
      size_t end = std::min(all.find('\n', at), all.size());
      const size_t next = end + 1;
      if (end > at && all[end - 1] == '\r') --end;
      if (end > at) entries.push_back(all.substr(at, end - at));
      at = next;
    }
  }
  for (const std::string& e : entries) {
    if (e.empty()) fail("{}: an entry is empty, expected at least one character", file.string());
    if (text::utf8_error(e) != std::string::npos)
      fail("{}: entry '{}' is not valid UTF-8", file.string(), text::utf8_lossy(e));
  }
  if (entries.empty()) fail("{}: no entries", file.string());
  return entries;
}

WordLists::WordLists(const std::vector<std::vector<std::string>>& lists) : lists_(lists.size()) {
  std::map<std::string, std::map<uint32_t, uint32_t>> uses;  // of an entry: how often in which list
  for (const auto& list : lists) entries_.push_back(list.size());
  for (uint32_t l = 0; l < lists.size(); ++l)
    for (const std::string& e : lists[l]) ++uses[e][l];
  std::vector<std::string> words;
  for (const auto& [entry, in] : uses) {
    std::vector<Use> of;
    for (const auto& [list, times] : in) of.push_back({list, times});
    if (entry.find_first_of(".^$*+?{}[]\\|()") != std::string::npos) {
      patterns_.push_back({text::Regex("(?-m)" + entry), std::move(of)});  // $ is the text's end, not a line's
    } else {
      words.push_back(entry), word_bytes_.push_back(entry.size()), word_uses_.push_back(std::move(of));
    }
  }
  words_ = AhoCorasick(words);
}

WordLists WordLists::load(const std::filesystem::path& folder, std::span<const char* const> names) {
  if (!std::filesystem::is_directory(folder)) fail("word lists: {} is not a folder", folder.string());
  const std::vector<std::string> known(names.begin(), names.end());
  std::vector<std::vector<std::string>> lists(names.size());
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string ending = file.path().extension().string(), stem = file.path().stem().string();
    if (ending != ".txt" && ending != ".json") continue;
    const auto at = std::find(known.begin(), known.end(), stem);
    if (at == known.end())
      fail("{}: no such list, expected {} as .txt or .json{}", file.path().string(), fmt::join(known, ", "),
           did_you_mean(stem, known));
    std::vector<std::string>& list = lists[static_cast<size_t>(at - known.begin())];
    if (!list.empty()) fail("{}: list {} exists as .txt and as .json, expected one of them", folder.string(), stem);
    list = read_word_list(file.path());
  }
  if (std::all_of(lists.begin(), lists.end(), [](const auto& l) { return l.empty(); }))
    fail("{}: no word list, expected one of {} as .txt or .json", folder.string(), fmt::join(known, ", "));
  return WordLists(lists);
}

WordCounter::WordCounter(std::shared_ptr<const WordLists> lists) : lists_(std::move(lists)) {}

std::span<const uint64_t> WordCounter::count(std::string_view utf8) {
  const WordLists& l = *lists_;
  counts_.assign(l.lists_, 0), free_from_.assign(l.word_bytes_.size(), 0);
  l.words_.scan(utf8, [&](uint32_t word, size_t end) {
    if (end - l.word_bytes_[word] < free_from_[word]) return;
    free_from_[word] = end;
    for (const WordLists::Use& u : l.word_uses_[word]) counts_[u.list] += u.times;
  });
  for (const WordLists::Pattern& p : l.patterns_) {
    uint64_t n = 0;
    for (size_t at = 0; at <= utf8.size();) {
      const text::Regex::Match m = p.regex.find(utf8, at, scratch_);
      if (!m) break;
      ++n;
      at = m.end;
      if (m.begin == m.end) at += m.end < utf8.size() ? text::utf8_at(utf8, m.end).len : 1;
    }
    for (const WordLists::Use& u : p.uses) counts_[u.list] += n * u.times;
  }
  return counts_;
}

}  // namespace quern::corpus
