// Whether a short list of words has one; linear.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

namespace quern::memory {

template <class List>
bool among(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace quern::memory
