#include "quern/corpus/io/ingest.h"

#include <charconv>

#include "quern/base/error.h"
#include "quern/corpus/io/ascii.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

const char* kind_of(const JsonMember& m) {
  if (m.kind == JsonMember::Kind::missing) return "missing";
  if (m.kind == JsonMember::Kind::number) return "a number";
  return m.value.starts_with('{')   ? "an object"
         : m.value.starts_with('[') ? "an array"
         : m.value == "null"        ? "null"
                                    : "a boolean";
}

}  // namespace

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

DocumentReader::DocumentReader(const Inputs& inputs, std::vector<FieldMap> fields, ReadPolicy policy)
    : inputs_(inputs), policy_(policy), fields_(std::move(fields)), members_(4) {
  if (fields_.size() == 1) fields_.resize(inputs.sources.size(), FieldMap(fields_[0]));
  QUERN_CHECK(fields_.size() == inputs.sources.size(), "{} maps for {} sources", fields_.size(),
              inputs.sources.size());
  // A name that no member can have: JSON has no bytes beyond UTF-8.
  const auto name = [](const std::string& n) { return n.empty() ? std::string("\xff") : n; };
  for (const FieldMap& f : fields_) {
    if (f.text.empty()) fail("the text field's name is empty");
    names_.push_back({f.text, name(f.score), name(f.label), name(f.url)});
    if (f.score == f.text || f.label == f.text || (!f.label.empty() && f.label == f.score))
      fail("text, score and label must be different fields, found '{}', '{}' and '{}'", f.text, f.score, f.label);
  }
}

// False with the reason when the line is no document.
bool DocumentReader::read_members(std::string_view line, DocumentView& d, std::string& why, RecordProblem& p) {
  const FieldMap& f = fields_[d.source];
  const std::vector<std::string>& names = names_[d.source];
  if (scratch_.size() < line.size()) scratch_.resize(line.size() * 2);
  p = RecordProblem::bad_json;
  if (const char* problem = read_json_line(line, names, members_, scratch_.data())) {
    why = fmt::format("bad JSON: {}", problem);
    return false;
  }
  p = RecordProblem::no_text;
  const JsonMember &text = members_[0], &score = members_[1], &label = members_[2];
  if (text.kind != JsonMember::Kind::string) {
    why = fmt::format(
        "member '{}' is {}, expected a string{}", f.text, kind_of(text),
        text.value.starts_with('{') || f.text.find('.') != f.text.npos ? "; nested fields are not supported" : "");
    return false;
  }
  const auto number = [](const JsonMember& m, double& to) {
    const char* end = m.value.data() + m.value.size();
    return m.kind == JsonMember::Kind::number && std::from_chars(m.value.data(), end, to).ptr == end;
  };
  if (!f.score.empty() && !number(score, d.score)) {
    why = fmt::format("member '{}' is not a number", f.score);
    return false;
  }
  if (!f.label.empty()) {
    double value = 0;
    const bool by_text = !f.label_equals.empty();
    if (by_text ? label.kind != JsonMember::Kind::string : !number(label, value)) {
      why = fmt::format("member '{}' is no {}", f.label, by_text ? "string" : "number");
      return false;
    }
    d.label_passes = by_text ? label.value == f.label_equals : value >= f.label_at_least;
  }
  if (!f.url.empty() && members_[3].kind == JsonMember::Kind::string) d.url = members_[3].value;
  d.text = text.value, d.text_raw = text.raw, d.line = line;
  return true;
}

RecordProblem DocumentReader::bad(const Row& row, RecordProblem p, const std::string& why, ReadCounts& counts) const {
  const InputFile& file = inputs_.files[row.file];
  if (policy_.stop_on_bad) fail("{}:{}: {}", file.path.string(), row.row + 1, why);
  counts.example(row.file, file, row.row, why);
  return p;
}

RecordProblem DocumentReader::document(const Block& block, const Row& row, DocumentView& d, ReadCounts& counts) {
  const InputFile& file = inputs_.files[row.file];
  d.source = inputs_.source_of(file, d.number);
  d.id = document_id(file.source, row.file, row.row);
  switch (row.problem) {
    case RecordProblem::none:
      break;
    case RecordProblem::blank:
    case RecordProblem::not_text:
      return row.problem;
    default:
      return bad(row, row.problem,
                 row.problem == RecordProblem::cut ? "the file ends inside this record" : "longer than a row may be",
                 counts);
  }
  const std::string_view bytes = block.text(row);
  const size_t error = is_ascii(bytes) ? bytes.npos : text::utf8_error(bytes);
  std::string_view sound = bytes;
  if (error != bytes.npos) {
    if (!policy_.replace_utf8)
      return bad(row, RecordProblem::bad_utf8, fmt::format("not valid UTF-8 at byte {} of the record", error),
                 counts);
    mended_ = text::utf8_lossy(bytes);
    sound = mended_;
    d.replaced = true;
  }
  if (is_lines(file.form)) {
    std::string why;
    RecordProblem p = RecordProblem::none;
    if (!read_members(sound, d, why, p)) return bad(row, p, why, counts);
  } else {
    d.text = sound;
  }
  if (d.replaced) ++counts.replaced;
  return RecordProblem::none;
}

}  // namespace quern::corpus
