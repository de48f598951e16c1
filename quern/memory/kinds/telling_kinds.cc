#include "quern/memory/kinds/telling_kinds.h"

#include <algorithm>
#include <charconv>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

constexpr std::string_view kHead = "quern-telling-kinds-2";
constexpr float kPair = 0.7f;  // the value of a pair of words
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";  // of outputs
constexpr uint32_t kMaxRows = 1 << 20;                                                         // to make room for
static_assert(kLetters.size() >= TellingKinds::kMaxOutputs);

bool alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool digit(char c) { return c >= '0' && c <= '9'; }

std::string root(std::string w) {
  const auto cut = [&](size_t n) { w.resize(w.size() - n); };
  if (w.ends_with("'s")) cut(2);
  if (w.size() > 5 && w.ends_with("ing"))
    cut(3);
  else if (w.size() > 4 && (w.ends_with("ed") || w.ends_with("es")))
    cut(2);
  else if (w.size() > 3 && w.ends_with('s') && !w.ends_with("ss"))
    cut(1);
  if (w.size() > 3 && w.ends_with('e')) cut(1);
  if (w.size() > 3 && w.back() == w[w.size() - 2] &&
      std::string_view("bdgmnprt").find(w.back()) != std::string_view::npos)
    cut(1);
  if (w.size() > 3 && w.ends_with('i')) w.back() = 'y';
  return w;
}

std::string token(std::string_view w) {
  if (w.find('@') != w.npos) return "<mail>";
  if (std::count_if(w.begin(), w.end(), digit) >= 4) return "<digits>";
  if (digit(w[0])) return "<number>";
  return root(std::string(w));
}

std::vector<std::string> tokens(std::string_view text) {
  std::string lower;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("’")) {
      lower += '\'', i += 2;
      continue;
    }
    lower += text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
  }
  std::vector<std::string> out;
  const auto begins = [](char c) { return alnum(c) || c == '@'; };
  const auto goes_on = [&](char c) { return begins(c) || c == '\'' || c == '.' || c == ':' || c == '-'; };
  for (size_t i = 0; i < lower.size();) {
    if (lower[i] == '?') out.push_back("?");
    if (!begins(lower[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < lower.size() && goes_on(lower[end])) ++end;
    while (!begins(lower[end - 1])) --end;
    out.push_back(token(std::string_view(lower).substr(i, end - i)));
    i = end;
  }
  const size_t last = lower.find_last_not_of(" \t\r\n");
  if (last != lower.npos && lower[last] == '?') out.push_back("?$");
  return out;
}

class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}
  std::string_view next() {
    const size_t end = rest_.find('\n');
    if (end == rest_.npos) fail("{}: the table of kinds is cut short", name_);
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  template <class Number>
  Number number(std::string_view& line) const {
    Number out{};
    while (line.starts_with(' ')) line.remove_prefix(1);
    const auto [end, bad] = std::from_chars(line.data(), line.data() + line.size(), out);
    if (bad != std::errc()) fail("{}: a number of the table of kinds cannot be read", name_);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    return out;
  }

 private:
  std::string_view rest_;
  const std::string& name_;
};

}  // namespace

std::vector<std::pair<std::string, float>> TellingKinds::features(std::string_view text) {
  const std::vector<std::string> words = tokens(text);
  std::vector<std::pair<std::string, float>> out;
  out.reserve(2 * words.size() + 1);
  for (const std::string& w : words) out.emplace_back(w, 1.0f);
  for (size_t i = 0; i <= words.size(); ++i)
    out.emplace_back((i == 0 ? "^" : words[i - 1]) + " " + (i == words.size() ? "$" : words[i]), kPair);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

TellingKinds TellingKinds::parse(std::string_view text, const std::string& name) {
  Lines lines(text, name);
  if (lines.next() != kHead) fail("{} is no table of kinds: it begins otherwise", name);
  TellingKinds out;
  for (std::string_view line = lines.next(); !line.empty();) {
    const size_t end = std::min(line.find(' '), line.size());
    out.names_.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (out.names_.size() > kMaxOutputs) fail("{}: more than {} kinds", name, kMaxOutputs);
  for (size_t k = 0; k < out.names_.size(); ++k)
    for (std::string_view line = lines.next(); !line.empty();) {
      const size_t end = std::min(line.find(','), line.size());
      out.phrases_.emplace_back(line.substr(0, end), static_cast<int32_t>(k));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  std::string_view sizes = lines.next();
  out.scale_ = lines.number<float>(sizes);
  const auto rows = lines.number<uint32_t>(sizes);
  std::string_view bias = lines.next();
  for (size_t c = 0; c < out.names_.size(); ++c) out.bias_.push_back(lines.number<float>(bias));
  out.row_of_.reserve(std::min(rows, kMaxRows));
  for (uint32_t i = 0; i < rows; ++i) {
    std::string_view line = lines.next();
    const size_t tab = line.find('\t');
    if (tab == line.npos) fail("{}: a row of the table of kinds has no word", name);
    out.row_of_.emplace(line.substr(0, tab), i);
    line.remove_prefix(tab + 1);
    out.begins_.push_back(static_cast<uint32_t>(out.weights_.size()));
    while (!line.empty()) {
      const size_t output = kLetters.find(line[0]);
      if (output >= out.names_.size()) fail("{}: a row of the table of kinds names no output", name);
      line.remove_prefix(1);
      out.weights_.push_back({static_cast<uint8_t>(output), lines.number<int8_t>(line)});
    }
  }
  out.begins_.push_back(static_cast<uint32_t>(out.weights_.size()));
  return out;
}

int32_t TellingKinds::named(std::string_view lower) const {
  size_t longest = 0;
  int32_t out = -1;
  for (const auto& [phrase, kind] : phrases_) {
    if (phrase.size() <= longest) continue;
    for (size_t at = lower.find(phrase); at != lower.npos; at = lower.find(phrase, at + 1)) {
      const size_t end = at + phrase.size();
      if ((at > 0 && alnum(lower[at - 1])) || (end < lower.size() && alnum(lower[end]))) continue;
      longest = phrase.size(), out = kind;
      break;
    }
  }
  return out;
}

int32_t TellingKinds::output(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  return at == names_.end() ? -1 : static_cast<int32_t>(at - names_.begin());
}

TellingKinds::Scores TellingKinds::scores(std::string_view text) const {
  Scores out{};
  std::copy(bias_.begin(), bias_.end(), out.begin());
  for (const auto& [feature, value] : features(text))
    if (const auto at = row_of_.find(feature); at != row_of_.end())
      for (uint32_t i = begins_[at->second]; i < begins_[at->second + 1]; ++i)
        out[weights_[i].output] += value * scale_ * static_cast<float>(weights_[i].value);
  return out;
}

}  // namespace quern::memory
