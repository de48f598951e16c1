// Takes a response apart as it streams: what lies inside <think> … </think> and what does not. Bytes that might begin
// a tag are held back until it is certain; white space around the tags goes to neither side.
#pragma once
#include <string>
#include <string_view>

namespace quern {

class ReasoningSplit {
 public:
  explicit ReasoningSplit(bool opened) : stage_(opened ? Stage::thinking : Stage::start) {}  // by the prompt
  struct Part {
    std::string reasoning, content;
  };
  Part push(std::string_view text);
  Part finish();  // what was held back

 private:
  enum class Stage { start, thinking, answer };
  Part advance(bool last);
  void drop_leading_blanks();
  std::string held_;
  Stage stage_;
  bool trim_ = true;  // white space at the beginning of this stage is dropped
};

}  // namespace quern
