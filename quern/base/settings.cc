#include "quern/base/settings.h"

#include <cmath>

namespace quern {
namespace {

std::string kebab(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// A cell of a table: no line ends, and bars that do not end it.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}
std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

std::string joined(const std::string& a, const char* between, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + between + b;
}

std::string default_cell(const SettingInfo& s) {
  return s.setting.shown_default ? cell(s.setting.shown_default) : code(s.initial);
}

void add_keys(const std::vector<SettingInfo>& list, const std::string& prefix, std::string& out) {
  for (const SettingInfo& s : list) {
    if (!s.fields.empty()) {
      add_keys(s.fields, prefix + s.name + ".", out);
      continue;
    }
    out += fmt::format("| `{}{}` | {} | {} |\n", prefix, s.name, default_cell(s),
                       joined(cell(s.help), "; ", bounds_text(s.setting.range)));
  }
}

}  // namespace

std::string bounds_fault(const Bounds& r, double v) {
  if (!r.bounded()) return "";
  const bool low = !(r.above_min ? v > r.min : v >= r.min), high = !(v <= r.max);
  if (!low && !high) return "";
  if (std::isnan(v)) return "nan is not a number";
  if (r.min == Bounds::finite().min && r.max == Bounds::finite().max)
    return fmt::format("{} is not a finite number", v);
  if (low && r.above_min) return fmt::format("{} is not above {}", v, r.min);
  if (r.max == Bounds::kNone) return fmt::format("{} is below {}", v, r.min);
  if (r.min == -Bounds::kNone || r.above_min) return fmt::format("{} is above {}", v, r.max);
  return fmt::format("{} is outside {} to {}", v, r.min, r.max);
}

std::string bounds_text(const Bounds& r) {
  if (!r.bounded() || (r.min == Bounds::finite().min && r.max == Bounds::finite().max)) return "";
  if (r.max == Bounds::kNone) return fmt::format("{} {}", r.above_min ? ">" : "≥", r.min);
  if (r.min == -Bounds::kNone) return fmt::format("≤ {}", r.max);
  return r.above_min ? fmt::format("> {}, ≤ {}", r.min, r.max) : fmt::format("{} to {}", r.min, r.max);
}

std::string words_between(const std::vector<std::string>& words, const char* last) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
  return out;
}

std::string SettingInfo::flag_names() const { return setting.flag ? setting.flag : "--" + kebab(name); }

const char* SettingInfo::value_name() const {
  if (type == SettingType::toggle) return "";
  if (setting.value) return setting.value;
  return type == SettingType::integer ? "N" : type == SettingType::number ? "X" : "TEXT";
}

std::string key_table(const std::vector<SettingInfo>& list, const std::string& prefix) {
  std::string out = "| key | default | meaning |\n|---|---|---|\n";
  add_keys(list, prefix, out);
  return out;
}

std::string flag_table(const std::vector<SettingInfo>& list, FlagTable columns) {
  const bool keys = columns == FlagTable::flags_and_keys;
  std::string out = keys ? "| flag | key | values | default | meaning |\n|---|---|---|---|---|\n"
                         : "| flag | default | meaning |\n|---|---|---|\n";
  for (const SettingInfo& s : list) {
    const std::string names = s.flag_names(), last = names.substr(names.rfind(',') + 1);
    const std::string flag = last.empty() ? "" : joined(last, " ", s.value_name());
    const std::string start = fmt::format("| {} |{}", code(flag), keys ? " " + code(s.name) + " |" : "");
    out += fmt::format("{}{} {} | {} |\n", start, keys ? " " + bounds_text(s.setting.range) + " |" : "",
                       s.type == SettingType::toggle ? "off" : default_cell(s), cell(s.help));
  }
  return out;
}

}  // namespace quern
