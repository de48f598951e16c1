// Flags of a verb. One declaration gives parsing, `--help` and "did you mean". Positional words are declared too.
//
//   Args a("run", "answer a prompt, or chat");
//   a.positional("DIR", dir).flag("-p,--prompt", prompt, "text to continue").flag("--json", json, "one JSON object");
//   if (!a.parse(args)) return 0;   // --help was printed; a mistake throws UsageError (exit code 2)
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

namespace quern {

class UsageError : public Error {
 public:
  using Error::Error;
};

class Args {
 public:
  Args(std::string verb, std::string summary) : verb_(std::move(verb)), summary_(std::move(summary)) {}
  Args& positional(std::string name, std::string& value, bool required = true);
  Args& rest(std::string name, std::vector<std::string>& values);  // all further words
  Args& flag(std::string names, bool& value, std::string help);
  Args& flag(std::string names, std::string& value, std::string help);
  Args& flag(std::string names, int64_t& value, std::string help);
  Args& flag(std::string names, double& value, std::string help);
  Args& flag(std::string names, std::vector<std::string>& values, std::string help);  // may be given again and again
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
  Args& note(std::string text);  // printed at the end of the help
  bool parse(std::span<const std::string> args);
  std::string help() const;
  CliPlace place() const;

 private:
  struct Flag {
    std::vector<std::string> names;
    std::string help, kind, shown_default;  // kind empty: a switch
    std::function<void(const std::string&)> set;
  };
  struct Positional {
    std::string name;
    std::string* value;
    bool required;
  };
  Flag& add(std::string names, std::string help, std::string kind);
  const Flag& find(const std::string& name) const;
  std::string verb_, summary_, note_, rest_name_;
  std::vector<Flag> flags_;
  std::vector<Positional> positional_;
  std::vector<std::string>* rest_ = nullptr;
};

std::vector<int32_t> parse_token_list(const std::string& text);  // "1,2,3"

}  // namespace quern
