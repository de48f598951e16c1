// Reads documents as what they are: a text to search, and the headings that divide it.
//   plain, code           the text as it is, without headings
//   markdown, rst         the text as it is; headings are found in it, not inside blocks of code
//   html, man             the readable text: no tags, scripts, navigation or macros; code keeps its lines
// Byte offsets are those of this text: in Markdown, reStructuredText and plain text they are offsets of the file.
// Readers take any bytes and never fail; cost: linear.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::recall {

enum class DocumentKind { plain, code, markdown, rst, html, man, json_lines };

struct HeadingMark {
  uint64_t at;     // where its section begins: the heading's own line
  uint32_t level;  // 1 is the highest
  std::string title;
};
struct ReadDocument {
  std::string text;
  std::string title;                  // "" where the format has none besides headings
  std::vector<HeadingMark> headings;  // ascending
};

// By the name, without a final ".gz"; nothing for kinds that are not read. A name like "ls.1" is a man page only if
// its content is_roff.
std::optional<DocumentKind> document_kind(std::string_view name);
bool is_roff(std::string_view content);
std::string_view name_of(DocumentKind kind);

ReadDocument read_document(DocumentKind kind, std::string_view content);
std::vector<HeadingMark> markdown_headings(std::string_view text);
std::vector<HeadingMark> rst_headings(std::string_view text);
ReadDocument read_html(std::string_view content);
ReadDocument read_man(std::string_view content);

// Without markup of a line: ` * and the targets of links; runs of white space are one space.
std::string plain_title(std::string_view line);

}  // namespace quern::recall
