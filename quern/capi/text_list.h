// Texts as functions of quern.h take them: one behind the other, text i between ends[i - 1], or 0, and ends[i].
#pragma once
#include "quern/capi/handles.h"

namespace quern::capi {

template <class Text>  // std::string or std::string_view
std::vector<Text> text_list(const char* texts, const int64_t* ends, int64_t n) {
  const std::span<const int64_t> all = required(ends, n, "ends");
  std::vector<Text> out;
  out.reserve(all.size());
  int64_t begin = 0;
  for (const int64_t end : all) {
    if (end < begin) fail("ends: {} after {}, expected numbers that grow", end, begin);
    out.emplace_back(end > begin ? &required<const char>(texts, "texts") + begin : "",
                     static_cast<size_t>(end - begin));
    begin = end;
  }
  return out;
}

}  // namespace quern::capi
