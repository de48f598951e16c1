// Generation options by name: sets one field of GenerateOptions from text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/settings.h"
#include "quern/infer/engine/request.h"

namespace quern::capi {

// False: there is no such field; its names are added to `names`. Throws Error naming the field and what it expects.
bool set_option(infer::GenerateOptions& options, std::string_view name, const std::string& value, ListItem item,
                std::vector<std::string>& names);

}  // namespace quern::capi
