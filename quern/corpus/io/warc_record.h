// The head of a WARC record (ISO 28500): what the record is, and how long.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::corpus {

enum class WarcKind { text, response, resource, other };

struct WarcHead {
  WarcKind kind = WarcKind::other;
  uint64_t length = 0;               // of what follows the head
  std::string_view url, date, type;  // type: of the block
  bool truncated = false;            // by whoever stored it, who says so
  const char* problem = nullptr;     // why this is no head of a record
};

WarcHead read_warc_head(std::string_view head);  // without the blank line; views of it

}  // namespace quern::corpus
