// Parts of a sequence's state as tensors of a safetensors file: their names, a checksum over them, and how they are read
// back against what the model's sites declare.
#pragma once
#include <string>
#include <vector>

#include "quern/mixers/state.h"
#include "quern/tensor/safetensors.h"

namespace quern::infer {

std::string state_part_name(size_t site, const mixers::StatePart& part);  // SITE.PART

// f(site, index, part) of every part, in the order of their declaration.
template <class F>
void each_state_part(const std::vector<mixers::StateSite>& sites, F&& f) {
  for (size_t s = 0; s < sites.size(); ++s)
    for (size_t p = 0; p < sites[s].spec.parts.size(); ++p) f(s, p, sites[s].spec.parts[p]);
}

std::string state_checksum(const NamedTensors& tensors);

// These throw Error naming the file and what is wrong.
const std::string& state_fact(const SafetensorsFile& f, const char* name, const char* kind);  // of the header
Tensor state_tensor(const SafetensorsFile& f, const std::string& name, DType dtype, const Shape& shape);

}  // namespace quern::infer
