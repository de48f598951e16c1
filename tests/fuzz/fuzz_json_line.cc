// Any bytes as one line of JSONL: a document or a reason; what is accepted must be JSON for the general reader too,
// with the same text.
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/corpus/io/json_line.h"
#include "quern/text/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> names = {"text", "id"};
  const std::string line(reinterpret_cast<const char*>(data), size);
  std::vector<quern::corpus::JsonMember> members(2);
  std::vector<char> scratch(size);
  if (quern::corpus::read_json_line(line, names, members, scratch.data())) return 0;
  if (quern::text::utf8_error(line) != std::string::npos) return 0;
  try {
    const quern::Json j = quern::Json::parse(line);
    const quern::Json* text = j.find("text");
    const bool is_text = text && text->is_string();
    QUERN_CHECK(is_text == (members[0].kind == quern::corpus::JsonMember::Kind::string), "'{}'", line);
    QUERN_CHECK(!is_text || text->as_string() == members[0].value, "'{}'", line);
    std::string back = "{\"text\":";
    quern::corpus::append_json_string(back, members[0].value);
    QUERN_CHECK(!is_text || quern::Json::parse(back + "}").at("text").as_string() == members[0].value);
  } catch (const quern::Error& e) {  // a number beyond what the general reader holds
    QUERN_CHECK(std::string(e.what()).find("number") != std::string::npos, "{}", e.what());
  }
  return 0;
}
