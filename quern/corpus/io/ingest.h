// Converts records to documents: the text field of a JSON line or a CSV row, a whole text file, the main text of a web page,
// a WARC record, validated as UTF-8.
// An invalid record has a reason (RecordProblem), is counted, and stops the run or is skipped as the policy says.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/io/blocks.h"
#include "quern/corpus/io/json_line.h"
#include "quern/corpus/io/web_page.h"

namespace quern::corpus {

// Which members of a JSON line are read, for one source.
struct FieldMap {
  std::string text = "text";
  std::string score;                // empty: none
  bool scores_all = true;           // a row without a score is none; else it ranks below all that have one
  std::string source;               // whose value names the source, one of Inputs::sources; empty: the file does
  std::string url;                  // where the document comes from; empty: none
  std::string license = "license";  // that the row states of itself
  std::string id = "id";            // a row's own id
  // A label that decides whether the document may be in the corpus: equal to a text, or a number of at least so much.
  std::string label;
  std::string label_equals;
  double label_at_least = 0;  // when label_equals is empty
  bool label_any = false;     // any text is a label, and all may be in it
};

struct DocumentView {
  uint64_t id = 0, number = 0;  // number: of the row, over all inputs
  uint32_t source = 0;
  std::string_view text;
  std::string_view line;         // the JSON line as it came; empty for other forms
  std::string_view url, date;    // empty: not known; date: when the page was fetched
  std::string_view file;         // of a text or a page that is a file by itself
  std::string_view mime, title;  // of web pages
  std::string_view license;      // as the row or the page states it: a name, an address, or a JSON list of names
  std::string_view text_raw;     // the text field's value within the line, with its quotes
  std::string_view own_id;       // the id that a JSON line brings, as it stands there; empty: none
  std::string_view label;        // when it is a text
  double score = 0;              // where the row has none, below all others
  bool scored = true;            // or no score was asked for
  bool label_passes = true;
  bool replaced = false;   // U+FFFD was put in
  bool table = false;      // a row of CSV, whose cells are strings
  bool wants_url = false;  // one of a field was asked for
  bool mended = false;     // `line` is not quite as it came (mend_json_line)
};

// The document as a line of output, with `text` for its text: JSON lines keep all their members as they came, other
// forms become {"id", "file", "url", "date", "mime", "title", "license", "text"}, with what is known.
void append_document(const DocumentView& d, std::string_view text, std::string& lines);

// The same without the text.
void append_without_text(const DocumentView& d, std::string& lines);

// The id that a document keeps: its own, or that of its place in the inputs, as JSON.
std::string document_id_json(const DocumentView& d);

enum class AddedMember { added, same, other };
// Writes a member into the line of output that begins at `from`, as its last; `value` is JSON. One of that name stays.
AddedMember add_member(const std::string& name, std::string_view value, size_t from, std::string& lines);
// The same with the name of a source.
AddedMember add_source(const std::string& field, const std::string& source, size_t from, std::string& lines);

// The source that a JSON line names in its member `source`; null: none.
std::optional<std::string> own_source(const DocumentView& d);

// The document as a line with the members id, source and text, whatever its text field is called, and all its other ones.
// A member `source` or `text` of its own that is another is called source.1 or text.1.
void append_named_document(const DocumentView& d, const std::string& source, std::string& lines);

class DocumentReader {
 public:
  // One map for all sources, or one a source.
  DocumentReader(const Inputs& inputs, std::vector<FieldMap> fields, ReadPolicy policy);
  // f(const DocumentView&) for every document of the block; views are valid during the call only.
  // counts gains what this block held; problem(row number, RecordProblem) is called for every row that is none.
  template <class F, class P>
  void read(const Block& block, ReadCounts& counts, F&& f, P&& problem) {
    for (size_t i = 0; i < block.rows.size(); ++i) {
      const Row& row = block.rows[i];
      DocumentView d;
      d.number = block.first + i;
      const RecordProblem p = document(block, row, d, counts);
      counts.count(row.file, p);
      if (p != RecordProblem::none) {
        problem(d.number, p);
        continue;
      }
      counts.text_bytes += d.text.size();
      if (d.wants_url && d.url.empty()) counts.count_without_url(row.file);
      f(static_cast<const DocumentView&>(d));
    }
  }

 private:
  RecordProblem document(const Block& block, const Row& row, DocumentView& d, ReadCounts& counts);
  RecordProblem bad(const Row& row, RecordProblem p, const std::string& why, ReadCounts& counts) const;

  const Inputs& inputs_;
  ReadPolicy policy_;
  bool read_members(std::string_view line, DocumentView& d, std::string& why, RecordProblem& p);
  std::string without_text(const Row& row, std::string_view line, const DocumentView& d, ReadCounts& counts) const;
  bool find_source(const JsonMember& m, const std::string& field, uint32_t& source, std::string& why) const;
  void read_origin(std::string_view head, DocumentView& d);
  void name_file(const InputFile& file, DocumentView& d);
  RecordProblem read_web_page(const Row& row, std::string_view bytes, DocumentView& d, ReadCounts& counts);
  std::string place(const Row& row) const;
  const char* read_json(std::string_view& line, DocumentView& d);

  std::vector<FieldMap> fields_;
  // text, score, label, url, source, id, license: empty names match nothing
  std::vector<std::vector<std::string>> names_;
  std::vector<JsonMember> members_;
  std::vector<char> scratch_;
  std::string mended_, mended_line_, head_, file_;
  WebPage page_;
};

}  // namespace quern::corpus
