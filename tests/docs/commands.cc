#include "tests/docs/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "quern/base/error.h"

namespace quern::docs {
namespace {

constexpr std::string_view kElided = "…", kServe = "quern serve";

std::string_view without_end_blanks(std::string_view s) {
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::string_view without_blanks(std::string_view s) {
  s = without_end_blanks(s);
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  return s;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Reads line after line of a command and knows whether the shell would want another.
class ShellReader {
 public:
  void read(std::string_view line) {
    if (!documents_.empty()) {
      read_document_line(line);
      return;
    }
    continued_ = false;
    size_t end = line.size();
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote_ != 0) {
        if (c == '\\' && quote_ == '"') ++i;
        if (c == quote_) quote_ = 0;
      } else if (c == '\\') {
        continued_ = i + 1 == line.size();
        ++i;
      } else if (c == '\'' || c == '"') {
        quote_ = c;
      } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t' || line[i - 1] == ';')) {
        end = i;
        break;
      } else if (c == '<' && line.substr(i).starts_with("<<<")) {
        i += 2;
      } else if (c == '<' && line.substr(i).starts_with("<<")) {
        i = read_delimiter(line, i + 2);
      }
    }
    const std::string_view code = without_end_blanks(line.substr(0, end));
    if (quote_ == 0 && (code.ends_with('|') || code.ends_with("&&"))) continued_ = true;
  }
  bool wants_more() const { return continued_ || quote_ != 0 || !documents_.empty(); }

 private:
  struct Document {
    std::string delimiter;
    bool tabs = false;  // <<- takes them off
  };

  size_t read_delimiter(std::string_view line, size_t at) {
    Document d;
    if (at < line.size() && line[at] == '-') d.tabs = true, ++at;
    while (at < line.size() && line[at] == ' ') ++at;
    for (; at < line.size() && (word_character(line[at]) || line[at] == '\'' || line[at] == '"'); ++at)
      if (word_character(line[at])) d.delimiter += line[at];
    if (!d.delimiter.empty()) documents_.push_back(d);
    return at - 1;
  }
  void read_document_line(std::string_view line) {
    if (documents_.front().tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == documents_.front().delimiter) documents_.erase(documents_.begin());
  }

  char quote_ = 0;
  bool continued_ = false;
  std::vector<Document> documents_;
};

bool matches_line(std::string_view printed, std::string_view shown) {
  const size_t at = shown.find(kElided);
  if (at == shown.npos) return printed == shown;
  if (!printed.starts_with(shown.substr(0, at))) return false;
  printed.remove_prefix(at);
  const std::string_view rest = shown.substr(at + kElided.size());
  for (size_t skip = 0; skip <= printed.size(); ++skip)
    if (matches_line(printed.substr(skip), rest)) return true;
  return false;
}

// The `&` that sends a command to the background: not of && and not of a redirection.
std::optional<size_t> background_mark(std::string_view text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\'' || text[i] == '"') i = std::min(text.find(text[i], i + 1), text.size());
    if (i >= text.size()) break;
    if (text[i] == '#' && i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t'))
      i = std::min(text.find('\n', i), text.size());
    if (i >= text.size() || text[i] != '&') continue;
    const char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < text.size() ? text[i + 1] : ' ';
    if (before == '>' || before == '<' || before == '&' || after == '&' || after == '>') continue;
    return i;
  }
  return std::nullopt;
}

std::optional<size_t> server_start(std::string_view text) {
  for (size_t at = 0; (at = text.find(kServe, at)) != text.npos; at += kServe.size()) {
    const std::string_view before = without_end_blanks(text.substr(0, at));
    const size_t word = std::min(before.find_last_of(" \t\n") + 1, before.size());
    const bool starts = before.empty() || before.ends_with(';') || before.ends_with("&&") || before.ends_with('(') ||
                        before.substr(word).find('=') != before.npos;
    const size_t end = at + kServe.size();
    if (starts && (end == text.size() || !word_character(text[end]))) return at;
  }
  return std::nullopt;
}

// The value of a flag, "--port 8080" or "--port=8080".
std::optional<std::string> flag_value(std::string_view command, std::string_view flag) {
  const size_t at = command.find(flag);
  if (at == command.npos || at + flag.size() >= command.size()) return std::nullopt;
  command.remove_prefix(at + flag.size());
  if (command[0] != ' ' && command[0] != '=') return std::nullopt;
  command = without_blanks(command.substr(1));
  return std::string(command.substr(0, command.find_first_of(" \t\n&")));
}

}  // namespace

std::vector<Command> shell_commands(std::string_view text, int first_line) {
  std::vector<Command> out;
  ShellReader reader;
  int number = first_line;
  for (const std::string_view line : lines_of(text)) {
    const bool inside = reader.wants_more();
    const std::string_view content = without_blanks(line);
    if (inside)
      out.back().text += '\n' + std::string(line);
    else if (!content.empty() && content[0] != '#')
      out.push_back({number, std::string(line)});
    if (inside || !content.empty()) reader.read(line);
    ++number;
  }
  return out;
}

std::vector<ConsoleStep> console_steps(std::string_view text, int first_line) {
  std::vector<ConsoleStep> out;
  ShellReader reader;
  int number = first_line;
  for (const std::string_view line : lines_of(text)) {
    if (!out.empty() && reader.wants_more()) {
      const std::string_view more = line.starts_with("> ") ? line.substr(2) : line;
      out.back().command.text += '\n' + std::string(more);
      reader.read(more);
    } else if (line.starts_with("$ ")) {
      out.push_back({{number, std::string(line.substr(2))}, {}});
      reader = {};
      reader.read(line.substr(2));
    } else {
      if (out.empty()) fail("a console block begins with a command after \"$ \", not with '{}'", line);
      out.back().output.emplace_back(line);
    }
    ++number;
  }
  return out;
}

bool prints(std::string_view printed, const std::vector<std::string>& shown) {
  std::vector<std::string_view> got = lines_of(printed), want(shown.begin(), shown.end());
  for (std::vector<std::string_view>* lines : {&got, &want}) {
    for (std::string_view& line : *lines) line = without_end_blanks(line);
    while (!lines->empty() && lines->back().empty()) lines->pop_back();
  }
  // reach[i]: the lines of `want` so far match the first i lines of `got`.
  std::vector<bool> reach(got.size() + 1, false);
  reach[0] = true;
  for (const std::string_view line : want) {
    std::vector<bool> next(got.size() + 1, false);
    const bool any = without_blanks(line) == kElided;
    for (size_t i = 0; i <= got.size(); ++i) {
      if (any) next[i] = reach[i] || (i > 0 && next[i - 1]);
      if (!any && i > 0) next[i] = reach[i - 1] && matches_line(got[i - 1], line);
    }
    reach = next;
  }
  return reach.back();
}

bool is_skipped(std::string_view command) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"./run ", "sudo ", "apt-get ", "git clone", "pip install"};
  command = without_blanks(command);
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view p) { return command.starts_with(p); });
}

std::string with_free_ports(std::string_view text, const std::function<int(int)>& free_port) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool at_word = i == 0 || !word_character(text[i - 1]);
    const bool port = at_word && (text.substr(i).starts_with("808") || text.substr(i).starts_with("809")) &&
                      i + 4 <= text.size() && std::isdigit(static_cast<unsigned char>(text[i + 3])) &&
                      (i + 4 == text.size() || !word_character(text[i + 4]));
    if (port)
      out += std::to_string(free_port(std::stoi(std::string(text.substr(i, 4)))));
    else
      out += text[i];
    i += port ? 4 : 1;
  }
  return out;
}

Prepared prepare(std::string_view command, const std::function<int(int)>& free_port) {
  Prepared p;
  p.text = command;
  for (const std::string_view binary : {"./build/release/apps/quern/quern", "build/release/apps/quern/quern"})
    for (size_t at = 0; (at = p.text.find(binary, at)) != p.text.npos;) p.text.replace(at, binary.size(), "quern");
  p.text = with_free_ports(p.text, free_port);
  const std::optional<size_t> server = server_start(p.text);
  if (!server || p.text.find(" --help", *server) != p.text.npos) return p;
  const std::optional<size_t> mark = background_mark(p.text, *server);
  if (!mark) {
    p.complaint = "quern serve does not return: start it with & at the end";
    return p;
  }
  p.background_server = true;
  const std::string_view arguments = std::string_view(p.text).substr(*server, *mark - *server);
  const std::optional<std::string> socket = flag_value(arguments, "--unix"), port = flag_value(arguments, "--port");
  const std::string place = socket ? *socket : port ? *port : std::to_string(free_port(8080));
  if (place == "0") return p;  // it finds a port itself, and says which
  p.text.insert(*mark + 1, fmt::format(" docs_listening {} $!;", place));
  if (!socket && !port) p.text.insert(*server + kServe.size(), " --port " + place);
  p.text.insert(0, fmt::format("docs_free_place {}; ", place));
  return p;
}

}  // namespace quern::docs
