// Reads one JSON object on one line: validates the whole line against the JSON grammar and returns the requested
// fields, strings already unescaped. Nothing is built for other fields. UTF-8 is not validated here. Cost: linear, 16
// bytes at a time inside strings; no allocation.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quern::corpus {

struct JsonMember {
  enum class Kind { missing, string, number, other };
  Kind kind = Kind::missing;
  std::string_view value;  // of a string: unescaped; else the bytes of the line
  std::string_view raw;    // the bytes of the line, a string's quotes included
};

// Reads `line` into out[i] for names[i] (of members named twice the last counts; a name may be wanted twice). Unescaped strings lie in `scratch`,
// which must hold line.size() bytes. Returns null, or what is wrong with the line.
const char* read_json_line(std::string_view line, std::span<const std::string> names, std::span<JsonMember> out,
                           char* scratch);

// The whole member of a JSON line whose value is m.raw: from the quote before its name to the end of its value.
std::string_view member_bytes(std::string_view line, const JsonMember& m);

// What Python's json module writes and JSON does not have, made JSON in place: NaN, Infinity and -Infinity become null,
// and the escape of half a surrogate pair becomes \ufffd. Whether `line` changed; it is not validated otherwise.
bool mend_json_line(std::string& line);

void append_json_string(std::string& out, std::string_view text);  // quoted, shortest escapes, UTF-8 as it is

}  // namespace quern::corpus
