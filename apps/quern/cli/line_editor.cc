#include "apps/quern/cli/line_editor.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include <fmt/format.h>

namespace quern::cli {
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

// The line on the screen: one of the history that may have been changed, or (entry == history.size()) the new one.
struct EditedLine {
  const std::vector<std::string>& history;
  size_t entry = 0;
  std::string text = {};
  std::string draft = {};  // the new line, while one of the history is shown
  size_t at = 0;           // the cursor's byte
};

void show_entry(EditedLine& l, size_t entry) {
  if (l.entry == l.history.size()) l.draft = l.text;
  l.entry = entry;
  l.text = entry == l.history.size() ? l.draft : l.history[entry];
  l.at = l.text.size();
}

void erase_back_to(EditedLine& l, size_t begin) {
  l.text.erase(begin, l.at - begin);
  l.at = begin;
}
void erase_character(EditedLine& l) { l.text.erase(l.at, after(l.text, l.at) - l.at); }

size_t word_before(const std::string& s, size_t at) {
  while (at > 0 && s[at - 1] == ' ') --at;
  while (at > 0 && s[at - 1] != ' ') --at;
  return at;
}

void press(EditedLine& l, Key key) {
  switch (key) {
    case Key::left:
      l.at = before(l.text, l.at);
      break;
    case Key::right:
      l.at = after(l.text, l.at);
      break;
    case Key::home:
      l.at = 0;
      break;
    case Key::end:
      l.at = l.text.size();
      break;
    case Key::del:
      erase_character(l);
      break;
    case Key::up:
      if (l.entry > 0) show_entry(l, l.entry - 1);
      break;
    case Key::down:
      if (l.entry < l.history.size()) show_entry(l, l.entry + 1);
      break;
    case Key::other:
      break;
  }
}

// What next_byte() gives for keys that are no text.
enum : int {
  kEndOfInput = -1,
  kCtrlA = 1,
  kCtrlC = 3,
  kCtrlD = 4,
  kCtrlE = 5,
  kBackspace = 8,
  kCtrlK = 11,
  kCtrlU = 21,
  kCtrlW = 23,
  kEscape = 27,
  kDelete = 127
};

void type(EditedLine& l, int byte) {
  switch (byte) {
    case kCtrlA:
      return press(l, Key::home);
    case kCtrlE:
      return press(l, Key::end);
    case kCtrlD:
      return erase_character(l);
    case kCtrlK:
      return l.text.resize(l.at);
    case kCtrlU:
      return erase_back_to(l, 0);
    case kCtrlW:
      return erase_back_to(l, word_before(l.text, l.at));
    case kBackspace:
    case kDelete:
      return erase_back_to(l, before(l.text, l.at));
    default:
      if (byte >= ' ') l.text.insert(l.text.begin() + static_cast<std::ptrdiff_t>(l.at++), static_cast<char>(byte));
  }
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
  EditedLine line{.history = history_, .entry = history_.size()};
  for (;;) {
    show(prompt, line.text, line.at);
    const int c = next_byte();
    if (c == '\r' || c == '\n') return line.text;
    if (c == kCtrlC) return std::string();
    if (c == kEndOfInput || (c == kCtrlD && line.text.empty()))
      return line.text.empty() ? std::nullopt : std::optional(line.text);
    if (c == kEscape)
      press(line, escape_key());
    else
      type(line, c);
  }
}

}  // namespace quern::cli
