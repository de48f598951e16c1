// The settings of a config struct beyond JSON, from the same visit(): a list of them (flags, tables), values from text
// (flags, the C interface), range checks, and which of them were given.
//
//   for (const SettingInfo& s : list_settings(SamplingOptions())) fmt::print("{}: {}\n", s.name, s.help);
//   set_setting(options, "top_p", "0.9");            Error: "top_p: 1.5 is outside 0 to 1"
//   check_settings(options);                         every number against its range
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/base/config.h"
#include "quern/base/setting_text.h"

namespace quern {

enum class SettingType { toggle, integer, number, text, list, object, objects, json };

struct SettingInfo {
  std::string name, help, initial;  // initial: the default as text, empty where it has none
  SettingType type = SettingType::json;
  Setting setting = {};
  std::vector<SettingInfo> fields = {};  // of an object, or of each of the objects
  bool list() const { return type == SettingType::list || type == SettingType::objects; }
  std::string flag_names() const;  // "--top-p", "-n,--max-tokens"; empty without a flag
  const char* value_name() const;  // "P"; empty for a switch
  std::string shown_default() const { return setting.shown_default ? setting.shown_default : initial; }
};

template <ConfigStruct C>
std::vector<SettingInfo> list_settings(const C& values);

// Sets one field; a list gets one more item, or with `first` loses the ones it had. False: there is no such field.
enum class ListItem { first, further };
template <ConfigStruct C>
bool assign_setting(C& config, std::string_view name, const std::string& text, ListItem item = ListItem::first);

namespace settings {

template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> : Inner<T> {};
template <class T>
struct Inner<std::vector<T>> : Inner<T> {
  static constexpr bool is_list = true;
};
template <class T>
constexpr bool kIsList = requires {
  Inner<T>::is_list;
};

template <class T>
constexpr SettingType type_of() {
  using I = typename Inner<T>::type;
  if constexpr (ConfigStruct<I>)
    return kIsList<T> ? SettingType::objects : SettingType::object;
  else if constexpr (kIsList<T>)
    return SettingType::list;
  else if constexpr (std::is_same_v<I, bool>)
    return SettingType::toggle;
  else if constexpr (std::is_integral_v<I>)
    return SettingType::integer;
  else if constexpr (std::is_floating_point_v<I>)
    return SettingType::number;
  else
    return requires(I & i) { parse_setting(std::string(), i); }
  ? SettingType::text : SettingType::json;
}

struct Lister {
  std::vector<SettingInfo> found = {};
  template <class T>
  void operator()(const char* name, T& field, const char* help = "", const Setting& s = {}) {
    SettingInfo info{.name = name, .help = help, .initial = {}, .type = type_of<T>(), .setting = s};
    if constexpr (requires { setting_text(field); }) info.initial = setting_text(field);
    using I = typename Inner<T>::type;
    if constexpr (ConfigStruct<I>) info.fields = list_settings(I());
    found.push_back(std::move(info));
  }
};

struct Assigner {
  std::string_view name;
  const std::string& text;
  ListItem item;
  bool found = false;
  template <class T>
  void operator()(const char* key, T& field, const char* = "", const Setting& s = {}) {
    if (found || (name != key && !(s.alias && name == s.alias))) return;
    found = true;
    if constexpr (requires { parse_setting(text, field); }) {
      if constexpr (kIsList<T>)
        if (item == ListItem::first) field.clear();
      parse_setting(text, field);
    } else {
      fail("cannot be set by a text");
    }
  }
};

struct RangeChecker {
  std::string_view only;  // empty: all
  template <class T>
  void operator()(const char* name, T& field, const char* = "", const Setting& s = {}) {
    if (only.empty() || only == name || (s.alias && only == s.alias))
      if (const std::string fault = range_fault(s.range, field); !fault.empty()) fail("{}: {}", name, fault);
  }
};

}  // namespace settings

template <ConfigStruct C>
std::vector<SettingInfo> list_settings(const C& values) {
  C copy = values;
  settings::Lister l;
  copy.visit(l);
  return std::move(l.found);
}

template <ConfigStruct C>
bool assign_setting(C& config, std::string_view name, const std::string& text, ListItem item) {
  settings::Assigner a{name, text, item};
  config.visit(a);
  return a.found;
}

// Throws Error naming the field whose number is outside its range.
template <ConfigStruct C>
void check_settings(const C& config) {
  settings::RangeChecker c{};
  const_cast<C&>(config).visit(c);
}

// Sets a field by its name, or its alias, from text; a list becomes what the text says. Throws Error naming the field,
// and then leaves `config` as it was.
template <ConfigStruct C>
void set_setting(C& config, std::string_view name, const std::string& text) {
  C changed = config;
  bool found = false;
  try {
    found = assign_setting(changed, name, text);
  } catch (const Error& e) {
    fail("{}: {}", name, e.what());
  }
  if (!found) {
    std::vector<std::string> names;
    for (const SettingInfo& s : list_settings(config)) names.push_back(s.name);
    fail("unknown setting '{}'{}", name, did_you_mean(std::string(name), names));
  }
  settings::RangeChecker c{name};
  changed.visit(c);
  config = std::move(changed);
}

// Values given for some fields of C, in their order: an overlay over whatever the others come from.
template <ConfigStruct C>
class GivenSettings {
 public:
  // Throws Error ("'x' is not a number", without the name) for a text of the wrong form; ranges are not checked.
  void set(const std::string& name, const std::string& text) {
    C scratch;
    QUERN_CHECK(assign_setting(scratch, name, text), "no setting {}", name);
    given_.emplace_back(name, text);
  }
  bool has(std::string_view name) const {
    return std::any_of(given_.begin(), given_.end(), [&](const auto& g) { return g.first == name; });
  }
  void overlay(C& config) const {
    for (size_t i = 0; i < given_.size(); ++i) {
      const bool first = std::none_of(given_.begin(), given_.begin() + static_cast<int64_t>(i),
                                      [&](const auto& g) { return g.first == given_[i].first; });
      assign_setting(config, given_[i].first, given_[i].second, first ? ListItem::first : ListItem::further);
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

// Markdown tables. Of keys, as a file has them: nested ones with a dot, defaults, bounds, meaning. Of flags: the same by
// flag, where asked with the key beside it.
enum class FlagTable { flags, flags_and_keys };
std::string key_table(const std::vector<SettingInfo>& list, const std::string& prefix = {});
std::string flag_table(const std::vector<SettingInfo>& list, FlagTable columns = FlagTable::flags);

}  // namespace quern
