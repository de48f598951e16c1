#include "quern/corpus/ingest.h"

#include <charconv>

#include "quern/base/error.h"
#include "quern/corpus/ascii.h"
#include "quern/text/utf8.h"

namespace quern::corpus {

void append_document(const DocumentView& d, std::string_view text, std::string& lines) {
  if (d.line.empty()) {
    lines += fmt::format("{{\"id\":{},\"text\":", d.id);
    append_json_string(lines, text);
    lines += '}';
  } else if (text.data() == d.text.data() && text.size() == d.text.size()) {
    lines += d.line;
  } else {
    const auto before = static_cast<size_t>(d.text_raw.data() - d.line.data());
    lines.append(d.line, 0, before);
    append_json_string(lines, text);
    lines.append(d.line, before + d.text_raw.size());
  }
  lines += '\n';
}

DocumentReader::DocumentReader(const Inputs& inputs, FieldMap fields, ReadPolicy policy)
    : inputs_(inputs), policy_(policy), names_{fields.text} {
  if (fields.text.empty()) fail("the text field's name is empty");
  if (!fields.score.empty()) names_.push_back(fields.score);
  members_.resize(names_.size());
}

RowProblem DocumentReader::bad(const Row& row, RowProblem p, const std::string& why, ReadCounts& counts) const {
  const InputFile& file = inputs_.files[row.file];
  if (policy_.stop_on_bad) fail("{}:{}: {}", file.path.string(), row.row + 1, why);
  counts.example(file, row.row, why);
  return p;
}

RowProblem DocumentReader::document(const Block& block, const Row& row, DocumentView& d, ReadCounts& counts) {
  const InputFile& file = inputs_.files[row.file];
  d.source = file.source;
  d.id = document_id(file.source, row.file, row.row);
  switch (row.problem) {
    case RowProblem::none:
      break;
    case RowProblem::blank:
    case RowProblem::not_text:
      return row.problem;
    default:
      return bad(row, row.problem,
                 row.problem == RowProblem::cut ? "the file ends inside this row" : "longer than a row may be",
                 counts);
  }
  const std::string_view bytes = block.text(row);
  const size_t error = is_ascii(bytes) ? bytes.npos : utf8_error(bytes);
  std::string_view sound = bytes;
  if (error != bytes.npos) {
    if (!policy_.replace_utf8)
      return bad(row, RowProblem::bad_utf8, fmt::format("no UTF-8 from byte {} of the row on", error), counts);
    mended_ = utf8_lossy(bytes);
    sound = mended_;
    d.replaced = true;
  }
  if (file.form == InputForm::jsonl) {
    if (scratch_.size() < sound.size()) scratch_.resize(sound.size() * 2);
    if (const char* why = read_json_line(sound, names_, members_, scratch_.data()))
      return bad(row, RowProblem::bad_json, fmt::format("bad JSON: {}", why), counts);
    const JsonMember& text = members_[0];
    if (text.kind != JsonMember::Kind::string)
      return bad(row, RowProblem::no_text,
                 fmt::format("member '{}' is {}, expected a string", names_[0],
                             text.kind == JsonMember::Kind::missing ? "missing" : "something else"),
                 counts);
    d.text = text.value, d.text_raw = text.raw, d.line = sound;
    if (members_.size() > 1) {
      const JsonMember& score = members_[1];
      const char* end = score.value.data() + score.value.size();
      const bool read =
          score.kind == JsonMember::Kind::number && std::from_chars(score.value.data(), end, d.score).ptr == end;
      if (!read) return bad(row, RowProblem::no_text, fmt::format("member '{}' is no number", names_[1]), counts);
    }
  } else {
    d.text = sound;
  }
  if (d.replaced) ++counts.replaced;
  return RowProblem::none;
}

}  // namespace quern::corpus
