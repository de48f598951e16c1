// The fields of GenerateOptions by the names that requests and flags have.
#include "quern/capi/option_fields.h"

namespace quern::capi {

bool set_option(infer::GenerateOptions& options, std::string_view name, const std::string& value, ListItem item,
                std::vector<std::string>& names) {
  for (const SettingInfo& s : list_settings(options)) names.push_back(s.name);
  try {
    if (!assign_setting(options, name, value, item)) return false;
  } catch (const Error& e) {
    fail("{}: {}", name, e.what());
  }
  if (name == "stop" && value.empty()) fail("{}: found an empty text, expected at least one character", name);
  if (options.max_tokens < 1) fail("max_tokens {}: expected 1 or more", options.max_tokens);
  check_settings(options);
  infer::check(options.sampling);
  return true;
}

}  // namespace quern::capi
