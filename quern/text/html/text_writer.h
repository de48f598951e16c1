// Writes what a page shows as plain text, tag by tag: blocks are lines with a blank line between them, list items begin
// with "- " or their number, cells of a table row are joined by " | ", code keeps its lines, all other white space is one
// space.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/html/scanner.h"

namespace quern::text {

class TextWriter {
 public:
  void open(HtmlTag tag);
  void close(HtmlTag tag);
  void put(std::string_view text);  // with character references
  void leave_out();                 // what comes here is left out, and so is the label right above it ("See also:")
  size_t bytes() const { return out_.size(); }  // so far
  std::string take();                           // headings without anything below them are left out

 private:
  void break_to(size_t lines);
  void end_line();
  void put_preformatted(std::string_view text);
  void begin_heading(int level);
  void drop_empty_headings(int level);
  std::string out_;
  std::vector<int> lists_;  // open ones: the number of the last item, or −1 for those without numbers
  struct Heading {
    size_t begin, end;  // its line, without line ends
    int level;
  };
  std::vector<Heading> headings_;
  int pre_ = 0;
  bool row_begun_ = false;  // a cell of this row has been written
};

}  // namespace quern::text
