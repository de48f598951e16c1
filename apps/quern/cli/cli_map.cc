// Records one map at a time, on the calling thread.
#include "apps/quern/cli/cli_map.h"

namespace quern::cli {
namespace {

thread_local std::vector<CliPlace>* drawn = nullptr;

}  // namespace

bool mapped(const CliPlace& place) {
  if (drawn) drawn->push_back(place);
  return drawn != nullptr;
}

std::vector<CliPlace> draw_cli_map(const std::function<void()>& ask_all) {
  std::vector<CliPlace> places;
  drawn = &places;
  try {
    ask_all();
  } catch (...) {
    drawn = nullptr;
    throw;
  }
  drawn = nullptr;
  return places;
}

}  // namespace quern::cli
