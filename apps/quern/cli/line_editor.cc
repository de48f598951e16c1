#include "apps/quern/cli/line_editor.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include <fmt/format.h>

namespace quern {
namespace {

class RawTerminal {
 public:
  RawTerminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() { tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }

 private:
  termios before_{};
};

int next_byte() {
  unsigned char c;
  return ::read(STDIN_FILENO, &c, 1) == 1 ? c : -1;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t before(const std::string& s, size_t at) {
  if (at == 0) return 0;
  --at;
  while (at > 0 && continues(s[at])) --at;
  return at;
}
size_t after(const std::string& s, size_t at) {
  if (at >= s.size()) return s.size();
  ++at;
  while (at < s.size() && continues(s[at])) ++at;
  return at;
}
size_t columns(std::string_view s) {
  size_t n = 0;
  for (char c : s) n += !continues(c);
  return n;
}

void show(const std::string& prompt, const std::string& line, size_t at) {
  fmt::print(stderr, "\r\x1b[K{}{}", prompt, line);
  if (size_t back = columns(std::string_view(line).substr(at))) fmt::print(stderr, "\x1b[{}D", back);
  std::fflush(stderr);
}

enum class Key { left, right, up, down, home, end, del, other };

Key escape_key() {
  int c = next_byte();
  if (c != '[' && c != 'O') return Key::other;
  c = next_byte();
  switch (c) {
    case 'A':
      return Key::up;
    case 'B':
      return Key::down;
    case 'C':
      return Key::right;
    case 'D':
      return Key::left;
    case 'H':
      return Key::home;
    case 'F':
      return Key::end;
    default:
      break;
  }
  int last = c;
  while (last >= '0' && last <= ';') last = next_byte();  // a longer sequence: swallow it whole
  if (last != '~') return Key::other;
  return c == '3' ? Key::del : c == '1' || c == '7' ? Key::home : c == '4' || c == '8' ? Key::end : Key::other;
}

}  // namespace

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  if (!isatty(STDIN_FILENO)) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  auto line = edit(prompt);
  fmt::print(stderr, "\n");
  if (line && !line->empty() && (history_.empty() || history_.back() != *line)) history_.push_back(*line);
  return line;
}

std::optional<std::string> LineEditor::edit(const std::string& prompt) {
  RawTerminal raw;
  std::string line, draft;
  size_t at = 0, entry = history_.size();
  auto recall = [&](size_t to) {
    if (entry == history_.size()) draft = line;
    entry = to;
    line = entry == history_.size() ? draft : history_[entry];
    at = line.size();
  };
  for (;;) {
    show(prompt, line, at);
    int c = next_byte();
    switch (c) {
      case -1:
        return line.empty() ? std::nullopt : std::optional(line);
      case '\r':
      case '\n':
        return line;
      case 3:
        return std::string();  // Ctrl-C
      case 4:                  // Ctrl-D
        if (line.empty()) return std::nullopt;
        line.erase(at, after(line, at) - at);
        break;
      case 1:
        at = 0;
        break;  // Ctrl-A
      case 5:
        at = line.size();
        break;  // Ctrl-E
      case 11:
        line.resize(at);
        break;  // Ctrl-K
      case 21:
        line.erase(0, at), at = 0;
        break;    // Ctrl-U
      case 23: {  // Ctrl-W
        size_t b = at;
        while (b > 0 && line[b - 1] == ' ') --b;
        while (b > 0 && line[b - 1] != ' ') --b;
        line.erase(b, at - b), at = b;
        break;
      }
      case 8:
      case 127: {
        size_t b = before(line, at);
        line.erase(b, at - b), at = b;
        break;
      }
      case 27:
        switch (escape_key()) {
          case Key::left:
            at = before(line, at);
            break;
          case Key::right:
            at = after(line, at);
            break;
          case Key::home:
            at = 0;
            break;
          case Key::end:
            at = line.size();
            break;
          case Key::del:
            line.erase(at, after(line, at) - at);
            break;
          case Key::up:
            if (entry > 0) recall(entry - 1);
            break;
          case Key::down:
            if (entry < history_.size()) recall(entry + 1);
            break;
          case Key::other:
            break;
        }
        break;
      default:
        if (c >= 32) line.insert(line.begin() + static_cast<std::ptrdiff_t>(at++), static_cast<char>(c));
    }
  }
}

}  // namespace quern
