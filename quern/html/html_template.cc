#include "quern/html/html_template.h"

#include "quern/base/error.h"

namespace quern::html {
namespace {

// Line breaks with the blanks around them: nothing beside a tag or placeholder, else one blank.
std::string joined_lines(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(' ');
    if (first == line.npos) continue;
    line.remove_prefix(first);
    line.remove_suffix(line.size() - 1 - line.find_last_not_of(' '));
    const bool beside =
        out.empty() || out.back() == '>' || out.ends_with("}}") || line[0] == '<' || line.starts_with("{{");
    if (!beside) out += ' ';
    out += line;
  }
  return out;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t')
          out += "\xEF\xBF\xBD";
        else
          out += c;
    }
  return out;
}

HtmlTemplate::HtmlTemplate(std::string_view source) {
  constexpr std::string_view kOpen = "<!-- #", kClose = " -->\n";
  for (size_t at = source.find(kOpen); at != source.npos;) {
    const size_t close = source.find(kClose, at), next = source.find(kOpen, at + 1);
    QUERN_CHECK(close < next, "a fragment's line is not closed: {}", source.substr(at, 40));
    const std::string name(source.substr(at + kOpen.size(), close - at - kOpen.size()));
    const size_t begin = close + kClose.size();
    const std::string text = joined_lines(source.substr(begin, next == source.npos ? next : next - begin));
    auto& [known, pieces] = *fragments_.try_emplace(name).first;
    QUERN_CHECK(pieces.empty(), "two fragments '{}'", known);
    for (size_t from = 0; from <= text.size();) {
      const size_t open = text.find("{{", from);
      if (open == text.npos) {
        pieces.push_back({text.substr(from), "", false});
        break;
      }
      const bool raw = text.compare(open, 3, "{{{") == 0;
      const size_t key = open + (raw ? 3 : 2), stop = text.find(raw ? "}}}" : "}}", key);
      QUERN_CHECK(stop != text.npos && stop > key, "a placeholder in '{}' is not closed", name);
      pieces.push_back({text.substr(from, open - from), text.substr(key, stop - key), raw});
      from = stop + (raw ? 3 : 2);
    }
    at = next;
  }
}

std::string HtmlTemplate::fill(std::string_view fragment, std::initializer_list<HtmlValue> values) const {
  const auto found = fragments_.find(fragment);
  QUERN_CHECK(found != fragments_.end(), "no fragment '{}'", fragment);
  std::string out;
  std::vector<bool> used(values.size());
  for (const Piece& p : found->second) {
    out += p.text;
    if (p.key.empty()) break;
    size_t at = 0;
    while (at < values.size() && values.begin()[at].key != p.key) ++at;
    QUERN_CHECK(at < values.size(), "fragment '{}' wants '{}'", fragment, p.key);
    used[at] = true;
    const std::string& text = values.begin()[at].text;
    out += p.raw ? text : escape_html(text);
  }
  for (size_t i = 0; i < used.size(); ++i)
    QUERN_CHECK(used[i], "fragment '{}' has no '{}'", fragment, values.begin()[i].key);
  return out;
}

}  // namespace quern::html
