// Members of a JSON object whose text may still be growing: the keys, and where their values begin and end. Values are
// only scanned for quotes and brackets; callers parse the ones they use.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::serve {

struct JsonMember {
  std::string key;
  size_t begin = 0, end = 0;  // of the value's text; end: of the text so far while it is not whole
  bool whole = false;
};

struct JsonMembers {
  enum class State { open, whole, malformed };
  State state = State::open;
  std::vector<JsonMember> members;
  size_t end = 0;  // of a whole object: behind its brace
};

JsonMembers scan_members(std::string_view text, size_t at);  // the object begins at `at`, blanks aside

}  // namespace quern::serve
