// Test helper: the message of the Error that f throws, or "" when it throws none.
#pragma once
#include <string>

#include "quern/base/error.h"

namespace quern {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace quern
