#include "quern/plan/machine.h"

#include "quern/base/mmap.h"
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

void write_machine(const std::filesystem::path& file, const Machine& m) {
  const Json all = write_value(m), defaults = write_value(Machine());
  std::string text = "# A machine as quern plan reads it, measured by quern bench.\n";
  for (const auto& [key, value] : all.as_object())
    if (key == "name" || value != defaults.at(key)) text += fmt::format("{} = {}\n", key, value.dump());
  write_file(file, text);
}

void divide_node(Machine& m, int64_t devices) {
  const double share = static_cast<double>(m.devices) / static_cast<double>(devices);
  m.product_tflops *= share, m.memory_gib *= share, m.memory_gbs *= share;
  m.devices = devices;
}

}  // namespace quern::plan
