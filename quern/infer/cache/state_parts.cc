// The checksum goes over names and bytes in their order.
#include "quern/infer/cache/state_parts.h"

#include "quern/base/error.h"
#include "quern/models/fingerprint.h"

namespace quern::infer {

std::string state_part_name(size_t site, const mixers::StatePart& part) {
  return fmt::format("{}.{}", site, part.name);
}

std::string state_checksum(const NamedTensors& tensors) {
  uint64_t h = 0;
  for (const auto& [name, t] : tensors) {
    h = models::content_hash(std::as_bytes(std::span(name)), h);
    h = models::content_hash({static_cast<const std::byte*>(t.raw()), static_cast<size_t>(t.bytes())}, h);
  }
  return fmt::format("{:016x}", h);
}

const std::string& state_fact(const SafetensorsFile& f, const char* name, const char* kind) {
  const auto it = f.metadata().find(name);
  if (it == f.metadata().end()) fail("{} is not {}: '{}' is missing from its header", f.path().string(), kind, name);
  return it->second;
}

Tensor state_tensor(const SafetensorsFile& f, const std::string& name, DType dtype, const Shape& shape) {
  const auto it = f.entries().find(name);
  if (it == f.entries().end()) fail("{}: the state's part '{}' is missing", f.path().string(), name);
  if (it->second.dtype != dtype || it->second.shape != shape)
    fail("{}: the state's part '{}' is {} {}, this model's is {} {}", f.path().string(), name,
         dtype_name(it->second.dtype), to_string(it->second.shape), dtype_name(dtype), to_string(shape));
  return f.tensor(name);
}

}  // namespace quern::infer
