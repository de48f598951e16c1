// Named shapes for `quern new`: configurations of the families from test sizes to the published ones.
#pragma once
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::cli {

// config.json of a family at a size; throws Error naming what exists.
Json shape_config(const std::string& family, const std::string& size, int64_t vocab_size);
int64_t shape_vocab(const std::string& family, const std::string& size);  // as published, else 512
std::vector<std::string> shape_families();
std::vector<std::string> shape_sizes(const std::string& family);

}  // namespace quern::cli
