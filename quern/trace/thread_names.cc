#include "quern/trace/thread_names.h"

#include <atomic>
#include <mutex>

namespace quern::trace {
namespace {

struct Names {
  std::mutex mutex;
  std::map<int, std::string> of;
};
Names& names() {
  static Names n;
  return n;
}

}  // namespace

int thread_number() {
  static std::atomic<int> threads{0};
  thread_local const int mine = threads++;
  return mine;
}

void name_thread(const std::string& name) {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  n.of[thread_number()] = name;
}

std::map<int, std::string> thread_names() {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  return n.of;
}

}  // namespace quern::trace
