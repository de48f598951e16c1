// Reading --mcp FILE.
#include "apps/quern/run/mcp_servers.h"

#include "quern/base/version.h"

namespace quern::cli {

std::shared_ptr<mcp::Servers> read_mcp_servers(const std::string& file) {
  std::vector<std::string> notes;
  auto configs = mcp::read_servers(std::filesystem::path(file), notes);
  for (const std::string& n : notes) fmt::print(stderr, "note: {}\n", n);
  return std::make_shared<mcp::Servers>(std::move(configs), version());
}

}  // namespace quern::cli
