#include "apps/quern/bench/machine_file.h"

#include <filesystem>

#include "quern/base/error.h"
#include "quern/host/host.h"

namespace quern::cli {

plan::Machine read_own_machine(const std::string& file) {
  if (!std::filesystem::exists(file))
    fail("--machine {}: no such file; 'quern bench host --machine {}' measures memory and products first", file,
         file);
  plan::Machine m = plan::read_machine(file);
  const std::string cpu = host::host_info().cpu;
  if (m.name != cpu)
    fail("--machine {}: it describes '{}', and this machine is '{}'; name another file", file, m.name, cpu);
  return m;
}

plan::Machine own_machine(const std::string& file) {
  if (std::filesystem::exists(file)) return read_own_machine(file);
  plan::Machine m;
  m.name = host::host_info().cpu;
  return m;
}

}  // namespace quern::cli
