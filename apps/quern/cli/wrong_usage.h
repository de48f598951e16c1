// What a library says of a value is wrong usage where the value came from the command line.
#pragma once
#include <utility>

#include "apps/quern/cli/args.h"

namespace quern::cli {

// The result of `of`; its Error becomes a UsageError (exit status 2) that begins with the verb.
template <class F>
auto checked_usage(const char* verb, F&& of) {
  try {
    return std::forward<F>(of)();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(fmt::format("quern {}: {}", verb, e.what()));
  }
}

}  // namespace quern::cli
