#include "tests/cli/declared_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace quern::declared {
namespace {

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks in place of // comments, outside literals: lines and columns stay.
std::string without_comments(std::string_view text) {
  std::string out(text);
  bool quoted = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (quoted && out[i] == '\\') {
      ++i;
    } else if (out[i] == '"' && (i == 0 || out[i - 1] != '\'')) {
      quoted = !quoted;
    } else if (!quoted && out.compare(i, 2, "//") == 0) {
      for (; i < out.size() && out[i] != '\n'; ++i) out[i] = ' ';
    } else if (out[i] == '\n') {
      quoted = false;
    }
  }
  return out;
}

size_t after_blanks(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(" \n", at), text.size());
}

// The literals that begin at `at`, joined; leaves `at` after them.
std::string literals(std::string_view text, size_t& at) {
  std::string out;
  for (at = after_blanks(text, at); at < text.size() && text[at] == '"'; at = after_blanks(text, at + 1))
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
      if (at < text.size()) out += text[at];
    }
  return out;
}

constexpr std::string_view kDefault = "default: ";  // how a reason for defaults begins

std::string without_default(std::string help) {
  const size_t bracket = help.rfind(" [");
  if (help.ends_with(']') && bracket != help.npos) help.resize(bracket);
  return help;
}

}  // namespace

std::vector<Declaration> declarations(const std::string& file, std::string_view source) {
  const std::string text = without_comments(source);
  std::vector<Declaration> out;
  for (const std::string_view call : {"flag(", "v("})
    for (size_t from = text.find(call); from != text.npos; from = text.find(call, from + 1)) {
      if (from > 0 && word_character(text[from - 1])) continue;
      size_t at = from + call.size();
      const std::string name = literals(text, at);
      if (name.empty() || at >= text.size() || text[at] != ',') continue;
      at = text.find_first_of(",()", at + 1);  // the variable
      if (at == text.npos || text[at] != ',') continue;
      const std::string help = without_default(literals(text, ++at));
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(from), '\n') + 1;
      if (!help.empty()) out.push_back({name, help, fmt::format("{}:{}", file, line)});
    }
  return out;
}

std::vector<std::string> repeated_helps(const std::vector<Declaration>& all) {
  std::map<std::string, std::vector<std::string>> places;
  for (const Declaration& d : all) places[d.help].push_back(d.place);
  std::vector<std::string> out;
  for (const auto& [help, at] : places)
    if (at.size() > 1) out.push_back(fmt::format("{} all say: {}", fmt::join(at, ", "), help));
  return out;
}

FlagTexts flag_texts(std::string_view page) {
  FlagTexts out;
  std::istringstream lines{std::string(page)};
  std::string verb;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) verb = line.substr(line.find_first_not_of("# "));
    if (!line.starts_with("  -")) continue;
    const size_t gap = line.find("  ", 2), help = line.find_first_not_of(' ', gap);
    if (gap == line.npos || help == line.npos) continue;
    const std::string left = line.substr(2, gap - 2);  // "-n, --max-tokens N"
    size_t name = left.find("--");
    if (name == left.npos) name = 0;
    const size_t end = std::min(left.find(' ', name), left.size());
    out[left.substr(name, end - name)][left.substr(end) + "  " + line.substr(help)].push_back(verb);
  }
  return out;
}

std::vector<std::string> flag_complaints(const FlagTexts& flags, std::string_view reasons) {
  enum class Excuse { none, defaults, texts };
  std::vector<std::string> out;
  std::map<std::string, Excuse> listed;
  std::istringstream lines{std::string(reasons)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const size_t end = std::min(line.find(' '), line.size());
    const size_t reason = std::min(line.find_first_not_of(' ', end), line.size());
    const bool defaults = line.compare(reason, kDefault.size(), kDefault) == 0;
    if (reason + (defaults ? kDefault.size() : 0) >= line.size()) out.push_back(line + ": listed without a reason");
    listed[line.substr(0, end)] = defaults ? Excuse::defaults : Excuse::texts;
  }
  const auto needed = [](const std::map<std::string, std::vector<std::string>>& texts) {
    std::set<std::string> helps;
    for (const auto& [text, verbs] : texts) helps.insert(without_default(text));
    return texts.size() < 2 ? Excuse::none : helps.size() < 2 ? Excuse::defaults : Excuse::texts;
  };
  for (const auto& [name, texts] : flags) {
    const auto excuse = listed.find(name);
    if (needed(texts) <= (excuse == listed.end() ? Excuse::none : excuse->second)) continue;
    std::string what = name + " says different things:";
    for (const auto& [text, verbs] : texts) what += fmt::format("\n  {} ({})", text, fmt::join(verbs, ", "));
    out.push_back(what);
  }
  for (const auto& [name, excuse] : listed) {
    const auto f = flags.find(name);
    const Excuse need = f == flags.end() ? Excuse::none : needed(f->second);
    if (need == Excuse::none) out.push_back(name + ": listed, but all verbs say the same of it");
    if (need == Excuse::defaults && excuse == Excuse::texts)
      out.push_back(name + ": listed, but only its default differs; begin the reason with \"default: \"");
  }
  return out;
}

}  // namespace quern::declared
