// Man pages: roff with the macros of man(7) and mdoc(7), as readable text. Only what shapes text is followed: fonts,
// definitions of macros, conditions and registers are left out.
#include <algorithm>
#include <array>

#include "quern/recall/read/document.h"
#include "quern/recall/read/roff.h"

namespace quern::recall {
namespace {

template <size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

// Words of text whose fonts differ: those with two letters join their arguments.
constexpr std::array<std::string_view, 10> kFonts = {"B", "I", "SM", "SB", "BR", "RB", "IR", "RI", "BI", "IB"};
constexpr std::array<std::string_view, 17> kBreaks = {"PP", "P",  "LP", "sp", "Pp", "HP", "Bl", "El", "Bd",
                                                      "Ed", "EX", "EE", "nf", "fi", "SY", "YS", "D1"};
constexpr std::array<std::string_view, 6> kWithText = {"UR", "MT", "UE", "ME", "Dl", "OP"};
// Macros of mdoc that may stand among the words of a line, without a sign of their own.
constexpr std::array<std::string_view, 43> kMdoc = {"Ar", "Cm", "Ev", "Em", "Sy", "Li", "Pa", "Va", "Fn", "Fa", "Ft",
                                                    "Fo", "Fc", "Ad", "An", "Cd", "Dv", "Er", "Ic", "In", "Lb", "Lk",
                                                    "Mt", "Ms", "Nm", "No", "Ns", "Op", "Oo", "Oc", "Ql", "Sx", "St",
                                                    "Tn", "Vt", "Xo", "Xc", "At", "Bx", "Nx", "Fx", "Ox", "Bsx"};
constexpr std::array<std::string_view, 12> kQuoting = {"Dq", "Sq", "Pq", "Bq", "Aq", "Brq",
                                                       "Qq", "Do", "Dc", "So", "Sc", "Eo"};

class ManReader {
 public:
  explicit ManReader(std::string_view s) : s_(s) {}
  ReadDocument read() {
    while (at_ < s_.size()) {
      const std::string_view line = next_line();
      if (line.size() > 0 && (line[0] == '.' || line[0] == '\'')) {
        request(line.substr(1));
      } else if (begun_) {
        put_line(line);
      }
    }
    while (!d_.text.empty() && d_.text.back() == '\n') d_.text.pop_back();
    std::erase_if(d_.headings, [&](const HeadingMark& h) { return h.title.empty() || h.at >= d_.text.size(); });
    return std::move(d_);
  }

 private:
  std::string_view next_line() {
    const size_t end = std::min(s_.find('\n', at_), s_.size());
    std::string_view line = s_.substr(at_, end - at_);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    at_ = end + 1;
    return line;
  }
  void skip_to(std::string_view end) {
    while (at_ < s_.size())
      if (const std::string_view line = next_line(); line.starts_with(end)) return;
  }
  // A condition: its block, or the rest of its line, is not text.
  void skip_condition(std::string_view line) {
    const auto depth_of = [](std::string_view l) {
      int depth = 0;
      for (size_t i = 0; i + 1 < l.size(); ++i)
        if (l[i] == '\\') depth += l[i + 1] == '{' ? 1 : l[i + 1] == '}' ? -1 : 0, ++i;
      return depth;
    };
    int depth = depth_of(line);
    while (depth > 0 && at_ < s_.size()) depth += depth_of(next_line());
  }

  void request(std::string_view line) {
    size_t begin = 0;
    while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
    line = line.substr(begin);
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    const std::string_view rest = line.substr(std::min(line.size(), name.size()));
    if (name.starts_with("\\\"")) return;
    if (name == "de" || name == "de1" || name == "am" || name == "ig") return skip_to("..");
    if (name == "if" || name == "ie" || name == "el" || name == "while") return skip_condition(rest);
    if (name == "TH" || name == "Dt") {
      const auto a = roff_arguments(rest);
      if (!a.empty()) d_.title = a.size() > 1 ? a[0] + "(" + a[1] + ")" : a[0];
      begun_ = true;
      return;
    }
    if (name == "Dd") begun_ = true;
    if (begun_) text_request(name, rest);
  }

  void text_request(std::string_view name, std::string_view rest) {
    if (name == "SH" || name == "Sh" || name == "SS" || name == "Ss") {
      std::string title = joined(roff_arguments(rest), " ");
      if (title.empty() && at_ < s_.size()) title = roff_text(next_line());
      break_to(2);
      d_.headings.push_back({d_.text.size(), name[1] == 'H' || name[1] == 'h' ? 1u : 2u, plain_title(title)});
      d_.text += d_.headings.back().title;
      literal_ = false;
      return break_to(1);
    }
    if (name == "nf" || name == "EX" || name == "Bd") literal_ = true;
    if (name == "fi" || name == "EE" || name == "Ed") literal_ = false;
    if (name == "TP" || name == "TQ") return break_to(name == "TP" ? 2 : 1);
    if (name == "br") return break_to(1);
    if (name == "IP" || name == "It") {
      break_to(name == "IP" ? 2 : 1);
      auto a = roff_arguments(rest);
      if (name == "IP" && a.size() > 1) a.resize(1);
      put_text(name == "IP" ? joined(a, " ") : mdoc("It", a));
      return break_to(1);
    }
    if (name == "TS") return table();
    if (among(kBreaks, name)) return break_to(2);
    if (among(kFonts, name))
      return put_text(joined(roff_arguments(rest), name.size() == 1 || name[0] == 'S' ? " " : ""));
    if (among(kWithText, name)) return put_text(joined(roff_arguments(rest), " "));
    if (name == "Nd") return put_text("- " + joined(roff_arguments(rest), " "));
    if (name == "Xr" || name == "Fl" || name == "Nm" || among(kMdoc, name) || among(kQuoting, name))
      put_text(mdoc(name, roff_arguments(rest)));
  }

  // The rows of a table, behind the description of its columns.
  void table() {
    break_to(2);
    while (at_ < s_.size())
      if (const std::string_view line = next_line(); line.ends_with('.')) break;
    while (at_ < s_.size()) {
      const std::string_view line = next_line();
      if (line.starts_with(".TE")) break;
      if (line.starts_with(".") || line.find_first_not_of("_=") == line.npos) continue;
      std::string row = roff_text(line);
      for (const std::string_view mark : {"T{", "T}"})
        for (size_t i = row.find(mark); i != row.npos; i = row.find(mark, i)) row.erase(i, mark.size());
      put_text(row);
      break_to(1);
    }
    break_to(2);
  }

  // A line of mdoc: "Fl" is a dash before what follows, "Xr" a page with its section, others only change fonts.
  std::string mdoc(std::string_view macro, std::vector<std::string> a) {
    std::string out;
    bool dash = macro == "Fl";
    const auto word = [&](const std::string& w) {
      const bool closes = w.size() == 1 && std::string_view(".,:;)]?!").find(w[0]) != std::string_view::npos;
      if (!out.empty() && !closes && out.back() != '(' && out.back() != '[') out += ' ';
      if (dash && !closes) out += '-';
      dash = false;
      out += w;
    };
    if (macro == "Nm") {
      if (!a.empty() && !among(kMdoc, a[0]) && a[0] != "Fl" && a[0].size() > 1) {
        if (name_.empty()) name_ = a[0];
      } else if (!name_.empty()) {
        a.insert(a.begin(), name_);
      }
    }
    if (macro == "Op") out += '[';
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == "Fl") {
        dash = true;
      } else if (a[i] == "Xr" || among(kMdoc, a[i]) || among(kQuoting, a[i])) {
        continue;
      } else if (a[i].size() == 1 && a[i][0] >= '1' && a[i][0] <= '9' && !out.empty() &&
                 (macro == "Xr" || (i >= 2 && a[i - 2] == "Xr"))) {
        out += "(" + a[i] + ")";
      } else {
        word(a[i]);
      }
    }
    if (macro == "Op") out += ']';
    return out;
  }

  static std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& w : words) {
      if (!out.empty()) out += between;
      out += w;
    }
    return out;
  }
  void put_line(std::string_view line) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == line.npos) return break_to(2);
    if (literal_ || first > 0) break_to(1);
    put_text(roff_text(line));
    if (literal_) break_to(1);
  }
  void put_text(const std::string& text) {
    if (text.empty()) return;
    if (!d_.text.empty() && d_.text.back() != '\n') d_.text += literal_ ? ' ' : '\n';
    d_.text += text;
    while (!d_.text.empty() && d_.text.back() == ' ') d_.text.pop_back();
  }
  void break_to(size_t lines) {
    if (d_.text.empty()) return;
    size_t have = 0;
    while (have < d_.text.size() && have < lines && d_.text[d_.text.size() - 1 - have] == '\n') ++have;
    d_.text.append(lines - have, '\n');
  }

  std::string_view s_;
  size_t at_ = 0;
  ReadDocument d_;
  std::string name_;  // of the page, which .Nm without words stands for
  bool begun_ = false, literal_ = false;
};

}  // namespace

bool is_roff(std::string_view content) {
  content = content.substr(0, 8192);
  for (const std::string_view opening : {".TH", ".Dd", ".Dt", ".so "})
    if (content.starts_with(opening) || content.find("\n" + std::string(opening)) != content.npos) return true;
  return false;
}

ReadDocument read_man(std::string_view content) { return ManReader(content).read(); }

}  // namespace quern::recall
