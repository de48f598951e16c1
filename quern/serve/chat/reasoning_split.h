// Splits a response into thinking (inside <think> … </think>) and answer while it streams. Bytes that may begin a tag
// are held back until that is certain; white space around the tags belongs to neither part.
#pragma once
#include <string>
#include <string_view>

#include "quern/infer/sampling/grammar_constraint.h"

namespace quern::serve {

class ReasoningSplit {
 public:
  // A thinking that is cut short may be taken up again by the model, in its answer: the tag that ends it is left out.
  enum class Cut { no, yes };
  explicit ReasoningSplit(infer::ThinkStart start, Cut cut = Cut::no)
      : cut_(cut == Cut::yes),
        stage_(start == infer::ThinkStart::opened ? Stage::thinking
               : start == infer::ThinkStart::none ? Stage::answer
                                                  : Stage::start),
        trim_(start != infer::ThinkStart::none) {}  // none: the text is kept as it is
  struct SplitText {
    std::string reasoning, content;
  };
  SplitText push(std::string_view text);
  SplitText finish();  // what was held back

 private:
  enum class Stage { start, thinking, answer };
  enum class Input { open, ended };
  SplitText advance(Input input);
  void drop_leading_blanks();
  std::string without_close(Input input);
  std::string held_;
  bool cut_;
  Stage stage_;
  bool trim_;  // white space at the beginning of this stage is dropped
};

}  // namespace quern::serve
