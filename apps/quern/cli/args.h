// Command line parser of a verb. One declaration gives parsing, `--help` and "did you mean". Positional arguments are
// declared too.
//
//   Args a("run", "generate text from a prompt, or chat");
//   a.positional("DIR", dir)
//       .flag("-n,--max-tokens N", n, "maximum number of tokens to generate")   // [256], the default, is added
//       .alias("--tokens")                                                      // an old name: taken, never shown
//       .json(json)                                                             // --json: print one JSON object
//       .settings(options);                                                     // all flags of a config struct
//   if (!a.parse(args)) return 0;   // --help was printed; a mistake throws UsageError (exit code 2)
//
// The word after the names says what the value is (FILE, MIB, N); without one it is TEXT, N or X by type.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/quern/cli/cli_map.h"
#include "quern/base/error.h"
#include "quern/base/settings.h"

namespace quern::cli {

class UsageError : public Error {
 public:
  using Error::Error;
};

// A field by its key, where a verb has not all of them, or computes its default.
struct SettingChoice {
  const char* name;
  const char* shown_default = nullptr;
};

class Args {
 public:
  Args(std::string verb, std::string summary) : verb_(std::move(verb)), summary_(std::move(summary)) {}
  Args& positional(std::string name, std::string& value);
  Args& optional_positional(std::string name, std::string& value);
  Args& rest(std::string name, std::vector<std::string>& values);  // all further words
  Args& flag(std::string names, bool& value, std::string help);
  Args& flag(std::string names, std::string& value, std::string help);
  Args& flag(std::string names, int64_t& value, std::string help);
  Args& flag(std::string names, double& value, std::string help);
  Args& flag(std::string names, std::vector<std::string>& values, std::string help);  // repeatable
  template <class T>
  Args& flag(std::string names, std::optional<T>& value, std::string help) {
    auto holder = std::make_shared<T>();
    flag(std::move(names), *holder, std::move(help));
    auto inner = flags_.back().set;
    flags_.back().set = [inner, holder, &value](const std::string& s) {
      inner(s);
      value = *holder;
    };
    flags_.back().shown_default.clear();
    return *this;
  }
  // A flag per field of a config struct that has one, its help, value and default from visit() (setting.h); `only`
  // picks fields. Values go into the struct itself, or are kept as given, to be laid over others later.
  template <ConfigStruct C>
  Args& settings(C& options, const std::vector<SettingChoice>& only = {}) {
    for (const SettingInfo& s : chosen(list_settings(options), only))
      setting(s, [&options, name = s.name](const std::string& text) {
        assign_setting(options, name, text, ListItem::further);
      });
    return *this;
  }
  template <ConfigStruct C>
  Args& settings(const C& defaults, GivenSettings<C>& given, const std::vector<SettingChoice>& only = {}) {
    for (const SettingInfo& s : chosen(list_settings(defaults), only))
      setting(s, [&given, name = s.name](const std::string& text) { given.set(name, text); });
    return *this;
  }
  // Throws UsageError naming the flag whose number is outside its range.
  template <ConfigStruct C>
  void check(const C& options) const {
    for (const SettingInfo& s : list_settings(options)) check(s);
  }
  static constexpr const char *kCounts = "the counts as one JSON object", *kManifest = "the manifest as JSON";
  Args& json(bool& value, const std::string& what = "one JSON object");  // --json; the help is "print " and `what`
  Args& alias(std::string names);  // further names of the flag declared last, in no help and no completion
  Args& note(std::string text);    // printed at the end of the help
  bool parse(std::span<const std::string> args);
  std::string help() const;
  CliPlace place() const;

 private:
  struct Flag {
    std::vector<std::string> names;
    std::string help, kind, shown_default;  // kind: the value's name, empty for a switch
    bool repeatable = false;
    std::function<void(const std::string&)> set = {};
    std::vector<std::string> aliases = {};
    std::string given = {};  // the name it was given by
  };
  struct Positional {
    std::string name;
    std::string* value;
    bool required;
  };
  Flag& add(std::string names, std::string help, std::string kind);
  static std::vector<SettingInfo> chosen(std::vector<SettingInfo> all, const std::vector<SettingChoice>& only);
  void setting(const SettingInfo& s, std::function<void(const std::string&)> set);
  void check(const SettingInfo& s) const;
  Flag& find(const std::string& name);
  void note_given(Flag& f, const std::string& name) const;  // throws UsageError for a name beside its alias
  std::string verb_, summary_, note_, rest_name_;
  std::vector<Flag> flags_;
  std::vector<Positional> positional_;
  std::vector<std::string>* rest_ = nullptr;
};

// "1,2,3"; `what` names the list in the error.
std::vector<int32_t> parse_token_list(const std::string& text, const std::string& what);

}  // namespace quern::cli
