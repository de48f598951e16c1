#include "quern/plan/machine.h"

#include "quern/base/toml.h"

namespace quern::plan {

Machine read_machine(const std::filesystem::path& file) {
  Machine m;
  from_json(read_toml(file), m, file.string(), UnknownKeys::refuse);
  const std::string where = file.string();
  if (m.product_tflops <= 0 || m.memory_gib <= 0 || m.memory_gbs <= 0)
    fail("{}: product_tflops, memory_gib and memory_gbs are required", where);
  if (m.devices > 1 && m.link_gbs <= 0) fail("{}: {} devices need link_gbs", where, m.devices);
  if (m.nodes > 1 && m.network_gbs <= 0) fail("{}: {} nodes need network_gbs", where, m.nodes);
  return m;
}

}  // namespace quern::plan
