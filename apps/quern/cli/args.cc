#include "apps/quern/cli/args.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <type_traits>

#include "quern/base/nearest.h"

namespace quern::cli {
namespace {

template <class... A>
[[noreturn]] void usage(fmt::format_string<A...> f, A&&... a) {
  throw UsageError(fmt::format(f, std::forward<A>(a)...));
}

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= s.size();) {
    size_t comma = std::min(s.find(',', at), s.size());
    out.push_back(s.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

template <class T>
T number(const std::string& text, const std::string& what) {
  T v{};
  try {
    parse_setting(text, v);
  } catch (const Error& e) {
    usage("{}: {}", what, e.what());
  }
  return v;
}

}  // namespace

Args& Args::positional(std::string name, std::string& value) {
  positional_.push_back({.name = std::move(name), .value = &value, .required = true});
  return *this;
}
Args& Args::optional_positional(std::string name, std::string& value) {
  positional_.push_back({.name = std::move(name), .value = &value, .required = false});
  return *this;
}
Args& Args::rest(std::string name, std::vector<std::string>& values) {
  rest_name_ = std::move(name);
  rest_ = &values;
  return *this;
}
Args::Flag& Args::add(std::string names, std::string help, std::string kind) {
  if (const size_t space = names.find(' '); space != names.npos) kind = names.substr(space + 1), names.resize(space);
  flags_.push_back({.names = split(names), .help = std::move(help), .kind = std::move(kind), .shown_default = {}});
  return flags_.back();
}
Args& Args::json(bool& value, const std::string& what) { return flag("--json", value, "print " + what); }
Args& Args::alias(std::string names) {
  flags_.back().aliases = split(names);
  return *this;
}
Args& Args::flag(std::string names, bool& value, std::string help) {
  add(std::move(names), std::move(help), "").set = [&value](const std::string&) { value = true; };
  return *this;
}
Args& Args::flag(std::string names, std::string& value, std::string help) {
  Flag& f = add(std::move(names), std::move(help), "TEXT");
  f.shown_default = value;
  f.set = [&value](const std::string& s) { value = s; };
  return *this;
}
Args& Args::flag(std::string names, int64_t& value, std::string help) {
  Flag& f = add(std::move(names), std::move(help), "N");
  f.shown_default = fmt::format("{}", value);
  f.set = [&value, name = f.names.back()](const std::string& s) { value = number<int64_t>(s, name); };
  return *this;
}
Args& Args::flag(std::string names, double& value, std::string help) {
  Flag& f = add(std::move(names), std::move(help), "X");
  f.shown_default = fmt::format("{}", value);
  f.set = [&value, name = f.names.back()](const std::string& s) { value = number<double>(s, name); };
  return *this;
}
Args& Args::flag(std::string names, std::vector<std::string>& values, std::string help) {
  Flag& f = add(std::move(names), std::move(help), "TEXT");
  f.repeatable = true;
  f.set = [&values](const std::string& s) { values.push_back(s); };
  return *this;
}
std::vector<SettingInfo> Args::chosen(std::vector<SettingInfo> all, const std::vector<SettingChoice>& only) {
  if (only.empty()) {
    std::erase_if(all, [](const SettingInfo& s) { return s.flag_names().empty(); });
    return all;
  }
  std::vector<SettingInfo> some;
  for (const SettingChoice& c : only) {
    const auto s = std::ranges::find(all, c.name, &SettingInfo::name);
    QUERN_CHECK(s != all.end(), "no setting {}", c.name);
    some.push_back(*s);
    if (c.shown_default) some.back().setting.shown_default = c.shown_default;
  }
  return some;
}
void Args::setting(const SettingInfo& s, std::function<void(const std::string&)> set) {
  Flag& f = add(s.flag_names(), s.help, s.value_name());
  f.repeatable = s.list();
  const bool is_switch = s.type == SettingType::toggle;
  if (!is_switch) f.shown_default = s.shown_default();
  if (s.setting.old_flags) f.aliases = split(s.setting.old_flags);
  if (s.setting.flag) {  // --temperature for --temp, too
    std::string whole = "--" + s.name;
    std::ranges::replace(whole, '_', '-');
    if (std::ranges::find(f.names, whole) == f.names.end()) f.aliases.push_back(std::move(whole));
  }
  f.set = [set = std::move(set), name = f.names.back(), is_switch](const std::string& text) {
    try {
      set(is_switch ? "true" : text);
    } catch (const Error& e) {
      usage("{}: {}", name, e.what());
    }
  };
}
void Args::check(const SettingInfo& s) const {
  if (!s.setting.range.bounded() || s.initial.empty()) return;
  double v = 0;
  parse_setting(s.initial, v);
  const std::string fault = bounds_fault(s.setting.range, v);
  if (!fault.empty()) usage("quern {}: {}: {}", verb_, split(s.flag_names()).back(), fault);
}
Args& Args::note(std::string text) {
  note_ = std::move(text);
  return *this;
}

Args::Flag& Args::find(const std::string& name) {
  std::vector<std::string> known{"--help"};
  for (Flag& f : flags_)
    for (const std::string& n : f.names) {
      if (n == name) return f;
      known.push_back(n);
    }
  for (Flag& f : flags_)
    if (std::ranges::find(f.aliases, name) != f.aliases.end()) return f;
  if (name == "--threads") usage("quern {}: --threads goes before the verb: quern --threads N {} …", verb_, verb_);
  usage("quern {}: unknown flag '{}'{}", verb_, name, did_you_mean(name, known));
}

void Args::note_given(Flag& f, const std::string& name) const {
  const auto old = [&](const std::string& n) {
    return std::find(f.aliases.begin(), f.aliases.end(), n) != f.aliases.end();
  };
  if (!f.repeatable && !f.given.empty() && f.given != name && (old(f.given) || old(name)))
    usage("quern {}: {} and {} are the same flag, given twice: give only {}", verb_, f.given, name, f.names.back());
  f.given = name;
}

bool Args::parse(std::span<const std::string> args) {
  size_t words = 0;
  bool only_words = false;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string a = args[i];
    if (!only_words && (a == "--help" || a == "-h")) {
      if (!mapped(place())) fmt::print("{}", help());
      return false;
    }
    if (!only_words && a == "--") {
      only_words = true;
      continue;
    }
    bool looks_like_number =
        a.size() > 1 && a[0] == '-' && (std::isdigit(static_cast<unsigned char>(a[1])) || a[1] == '.');
    if (only_words || a.empty() || a[0] != '-' || a == "-" || looks_like_number) {
      if (words < positional_.size())
        *positional_[words++].value = a;
      else if (rest_)
        rest_->push_back(a);
      else
        usage("quern {}: unexpected argument '{}' (see quern {} --help)", verb_, a, verb_);
      continue;
    }
    std::optional<std::string> value;
    if (size_t eq = a.find('='); eq != a.npos && a.starts_with("--")) {
      value = a.substr(eq + 1);
      a.resize(eq);
    }
    Flag& f = find(a);
    note_given(f, a);
    if (f.kind.empty()) {
      if (value) usage("quern {}: {} is a switch and takes no value", verb_, a);
      f.set("");
      continue;
    }
    if (!value) {
      if (i + 1 >= args.size()) usage("quern {}: {} needs a value", verb_, a);
      value = args[++i];
    }
    f.set(*value);
  }
  if (words < positional_.size() && positional_[words].required)
    usage("quern {}: {} is missing (see quern {} --help)", verb_, positional_[words].name, verb_);
  return true;
}

CliPlace Args::place() const {
  CliPlace p{.path = verb_};
  for (const Flag& f : flags_) p.flags.push_back({f.names, f.help, !f.kind.empty()});
  return p;
}

std::string Args::help() const {
  std::string s = fmt::format("quern {} — {}\n\nusage: quern {}", verb_, summary_, verb_);
  for (const Positional& p : positional_) s += p.required ? " " + p.name : " [" + p.name + "]";
  if (rest_) s += fmt::format(" [{}…]", rest_name_);
  if (!flags_.empty()) s += " [flags]\n\n";
  std::vector<std::string> left;
  size_t width = 0;
  for (const Flag& f : flags_) {
    left.push_back(fmt::format("  {}{}{}", fmt::join(f.names, ", "), f.kind.empty() ? "" : " ", f.kind));
    width = std::max(width, left.back().size());
  }
  for (size_t i = 0; i < flags_.size(); ++i)
    s += fmt::format("{:<{}}  {}{}\n", left[i], width, flags_[i].help,
                     flags_[i].shown_default.empty() ? "" : fmt::format(" [{}]", flags_[i].shown_default));
  if (flags_.empty()) s += "\n";
  if (!note_.empty()) s += "\n" + note_ + "\n";
  return s;
}

std::vector<int32_t> parse_token_list(const std::string& text, const std::string& what) {
  std::vector<int32_t> ids;
  for (const std::string& part : split(text)) ids.push_back(number<int32_t>(part, what));
  return ids;
}

}  // namespace quern::cli
