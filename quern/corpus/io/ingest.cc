#include "quern/corpus/io/ingest.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "quern/base/error.h"
#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/io/csv.h"
#include "quern/corpus/io/parquet.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr size_t kMembers = 7;  // that are read of a line

const char* kind_of(const JsonMember& m) {
  if (m.kind == JsonMember::Kind::missing) return "missing";
  if (m.kind == JsonMember::Kind::number) return "a number";
  if (m.kind == JsonMember::Kind::string) return "a string";
  return m.value.starts_with('{')   ? "an object"
         : m.value.starts_with('[') ? "an array"
         : m.value == "null"        ? "null"
                                    : "a boolean";
}

// What to do about the first row of a file that holds JSON, and not a line per object; empty: it is something else.
std::string several_lines(std::string_view row) {
  const size_t begin = row.find_first_not_of(" \t"), end = row.find_last_not_of(" \t,");
  if (begin == row.npos || end == row.npos) return {};
  if (row[begin] == '[') return fmt::format("; {}", kArrayHint);
  const bool open = row[begin] == '{' && (row[end] == '{' || row[end] == '[' || row.back() == ',');
  return open ? "; an object over several lines: write one per line, for example with jq -c ." : "";
}

// The names of a row of CSV, a few of many.
std::string columns_of(std::string_view line) {
  constexpr size_t kShown = 12;
  std::vector<std::string> names;
  const Json row = Json::parse(line, "a row of CSV");
  for (const auto& [name, cell] : row.as_object()) names.push_back(name);
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

void append_document(const DocumentView& d, std::string_view text, std::string& lines) {
  if (d.line.empty()) {
    lines += fmt::format("{{\"id\":{}", d.id);
    if (!d.file.empty()) lines += ",\"file\":", append_json_string(lines, d.file);
    if (!d.url.empty()) lines += ",\"url\":", append_json_string(lines, d.url);
    if (!d.date.empty()) lines += ",\"date\":", append_json_string(lines, d.date);
    if (!d.mime.empty()) lines += ",\"mime\":", append_json_string(lines, d.mime);
    if (!d.title.empty()) lines += ",\"title\":", append_json_string(lines, d.title);
    if (!d.license.empty()) lines += ",\"license\":", append_json_string(lines, d.license);
    lines += ",\"text\":";
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

void append_without_text(const DocumentView& d, std::string& lines) {
  if (d.line.empty()) {
    append_document(d, {}, lines);
    lines.erase(lines.rfind(",\"text\":"));
    lines += "}\n";
    return;
  }
  const std::string_view member = member_bytes(d.line, {.value = {}, .raw = d.text_raw});
  std::string_view before = d.line.substr(0, static_cast<size_t>(member.data() - d.line.data()));
  std::string_view behind = d.line.substr(before.size() + member.size());
  behind.remove_prefix(behind.find_first_of(",}"));
  if (behind[0] == ',')
    behind.remove_prefix(1);
  else if (const size_t comma = before.find_last_not_of(" \t"); comma != before.npos && before[comma] == ',')
    before = before.substr(0, comma);
  lines.append(before).append(behind) += '\n';
}

std::string document_id_json(const DocumentView& d) {
  return d.own_id.empty() ? std::to_string(d.id) : std::string(d.own_id);
}

AddedMember add_member(const std::string& name, std::string_view value, size_t from, std::string& lines) {
  std::string key;
  append_json_string(key, name);
  if (lines.find(key, from) != lines.npos) {
    const std::string_view line = std::string_view(lines).substr(from);
    std::vector<char> scratch(line.size());
    std::vector<JsonMember> member(1);
    const std::vector<std::string> names = {name};
    if (!read_json_line(line, names, member, scratch.data()) && member[0].kind != JsonMember::Kind::missing)
      return member[0].raw == value ? AddedMember::same : AddedMember::other;
  }
  const size_t end = lines.rfind('}');
  const bool first = lines.find_last_not_of(" \t", end - 1) == lines.find('{', from);
  lines.insert(end, fmt::format("{}{}:{}", first ? "" : ",", key, value));
  return AddedMember::added;
}

AddedMember add_source(const std::string& field, const std::string& source, size_t from, std::string& lines) {
  std::string value;
  append_json_string(value, source);
  return add_member(field, value, from, lines);
}

std::optional<std::string> own_source(const DocumentView& d) {
  if (d.line.find("\"source\"") == d.line.npos) return {};
  std::vector<char> scratch(d.line.size());
  std::vector<JsonMember> member(1);
  const std::vector<std::string> names = {"source"};
  if (read_json_line(d.line, names, member, scratch.data()) || member[0].kind != JsonMember::Kind::string) return {};
  return std::string(member[0].value);
}

namespace {

// A member's name within its line, with its quotes.
std::string_view name_bytes(std::string_view line, const JsonMember& m) {
  std::string_view name = member_bytes(line, m);
  name.remove_suffix(m.raw.size());
  return name.substr(0, name.rfind('"') + 1);
}

// The line that begins at `from` gets the name of its source, and a member of that name that is another the name of a
// second column.
void put_source(const std::string& source, size_t from, std::string& lines) {
  const std::vector<std::string> names = {"source"};
  std::vector<JsonMember> other(1);
  std::vector<char> scratch;
  while (add_source("source", source, from, lines) == AddedMember::other) {
    const std::string_view line = std::string_view(lines).substr(from);
    scratch.resize(line.size());
    read_json_line(line, names, other, scratch.data());
    const std::string_view name = name_bytes(line, other[0]);
    lines.replace(from + static_cast<size_t>(name.data() - line.data()), name.size(), "\"source.1\"");
  }
}

}  // namespace

void append_named_document(const DocumentView& d, const std::string& source, std::string& lines) {
  const size_t from = lines.size();
  append_document(d, d.text, lines);
  if (!d.line.empty()) {
    // Named "text", behind a member of that name that is another, which then has the name of a second column.
    const std::string_view name = name_bytes(d.line, {.value = {}, .raw = d.text_raw});
    if (name != "\"text\"") {
      std::vector<char> scratch(d.line.size());
      std::vector<JsonMember> other(1);
      const std::vector<std::string> names = {"text"};
      const bool there =
          !read_json_line(d.line, names, other, scratch.data()) && other[0].kind != JsonMember::Kind::missing;
      const auto rename = [&](std::string_view at, std::string_view to) {
        lines.replace(from + static_cast<size_t>(at.data() - d.line.data()), at.size(), to);
      };
      std::string_view taken = there ? member_bytes(d.line, other[0]) : std::string_view();
      taken = taken.substr(0, there ? std::string_view("\"text\"").size() : 0);
      if (there && taken.data() > name.data()) rename(taken, "\"text.1\"");
      rename(name, "\"text\"");
      if (there && taken.data() < name.data()) rename(taken, "\"text.1\"");
    }
  }
  add_member("id", document_id_json(d), from, lines);
  put_source(source, from, lines);
}

DocumentReader::DocumentReader(const Inputs& inputs, std::vector<FieldMap> fields, ReadPolicy policy)
    : inputs_(inputs), policy_(policy), fields_(std::move(fields)), members_(kMembers) {
  if (fields_.size() == 1) fields_.resize(inputs.sources.size(), FieldMap(fields_[0]));
  QUERN_CHECK(fields_.size() == inputs.sources.size(), "{} maps for {} sources", fields_.size(),
              inputs.sources.size());
  // A name that no member can have: JSON has no bytes beyond UTF-8.
  const auto name = [](const std::string& n) { return n.empty() ? std::string("\xff") : n; };
  for (const FieldMap& f : fields_) {
    for (const InputFile& file : f.source.empty() ? std::span<const InputFile>() : std::span(inputs.files))
      if (!is_lines(file.form)) fail("{}: is not of JSON lines and has no field '{}'", file.path.string(), f.source);
    if (f.text.empty()) fail("the text field's name is empty");
    names_.push_back({f.text, name(f.score), name(f.label), name(f.url), name(f.source),
                      name(f.id == f.text ? "" : f.id), name(f.license)});
    // A field that another one reads already is not read a second time.
    if (std::ranges::count(names_.back(), f.license) > 1) names_.back()[kMembers - 1] = name("");
    if (f.score == f.text || f.label == f.text || (!f.label.empty() && f.label == f.score))
      fail("text, score and label must be different fields, found '{}', '{}' and '{}'", f.text, f.score, f.label);
  }
}

// Null, or what is wrong with the line, also when it is mended.
const char* DocumentReader::read_json(std::string_view& line, DocumentView& d) {
  if (scratch_.size() < line.size()) scratch_.resize(line.size() * 2);
  const std::vector<std::string>& names = names_[d.source];
  const char* problem = read_json_line(line, names, members_, scratch_.data());
  if (!problem || policy_.stop_on_bad) return problem;
  mended_line_ = line;
  if (!mend_json_line(mended_line_)) return problem;
  if (scratch_.size() < mended_line_.size()) scratch_.resize(mended_line_.size() * 2);
  problem = read_json_line(mended_line_, names, members_, scratch_.data());
  if (!problem) line = mended_line_, d.mended = true;
  return problem;
}

// A row of a source that nobody asked for is a mistake of whoever asked, not of the row.
bool DocumentReader::find_source(const JsonMember& m, const std::string& field, uint32_t& source,
                                 std::string& why) const {
  if (m.kind != JsonMember::Kind::string) {
    why = fmt::format("member '{}' is {}, expected the name of a source", field, kind_of(m));
    return false;
  }
  const auto at = std::ranges::find(inputs_.sources, m.value);
  if (at == inputs_.sources.end())
    fail("a row is of source '{}': expected one of {}", m.value, fmt::join(inputs_.sources, ", "));
  source = static_cast<uint32_t>(at - inputs_.sources.begin());
  return true;
}

// False with the reason when the line is no document.
bool DocumentReader::read_members(std::string_view line, DocumentView& d, std::string& why, RecordProblem& p) {
  const FieldMap& f = fields_[d.source];
  p = RecordProblem::bad_json;
  if (const char* problem = read_json(line, d)) {
    why = fmt::format("bad JSON: {}", problem);
    return false;
  }
  p = RecordProblem::no_text;
  d.wants_url = !f.url.empty();
  const JsonMember &text = members_[0], &score = members_[1], &label = members_[2];
  if (text.kind != JsonMember::Kind::string) return false;                  // without_text says why
  const auto number = [table = d.table](const JsonMember& m, double& to) {  // a cell of CSV is text
    const char* end = m.value.data() + m.value.size();
    const bool written = m.kind == JsonMember::Kind::number || (table && m.kind == JsonMember::Kind::string);
    return written && !m.value.empty() && std::from_chars(m.value.data(), end, to).ptr == end;
  };
  p = RecordProblem::bad_field;
  if (!f.score.empty()) {
    d.scored = score.kind != JsonMember::Kind::missing && score.value != "null";
    if (!d.scored && !f.scores_all) {
      d.score = -std::numeric_limits<double>::infinity();
    } else if (!number(score, d.score)) {
      why = fmt::format("member '{}' is {}, expected a number", f.score, kind_of(score));
      return false;
    }
  }
  if (!f.label.empty()) {
    double value = 0;
    const bool by_text = f.label_any || !f.label_equals.empty();
    if (by_text ? label.kind != JsonMember::Kind::string : !number(label, value)) {
      why = fmt::format("member '{}' is {}, expected a {}", f.label, kind_of(label), by_text ? "string" : "number");
      return false;
    }
    if (by_text) d.label = label.value;
    d.label_passes = f.label_any || (by_text ? label.value == f.label_equals : value >= f.label_at_least);
  }
  if (!f.source.empty() && !find_source(members_[4], f.source, d.source, why)) return false;
  if (!f.url.empty() && members_[3].kind == JsonMember::Kind::string) d.url = members_[3].value;
  if (members_[5].kind == JsonMember::Kind::string || members_[5].kind == JsonMember::Kind::number)
    d.own_id = members_[5].raw;
  const JsonMember& license = members_[kMembers - 1];
  if (license.kind == JsonMember::Kind::string || license.value.starts_with('[')) d.license = license.value;
  d.text = text.value, d.text_raw = text.raw, d.line = line;
  return true;
}

// Why a row has no text, of the members that were read last.
std::string DocumentReader::without_text(const Row& row, std::string_view line, const DocumentView& d,
                                         ReadCounts& counts) const {
  const std::string& field = fields_[d.source].text;
  const JsonMember& text = members_[0];
  const bool missing = text.kind == JsonMember::Kind::missing;
  counts.no_field += missing;
  if (missing && d.table)
    return fmt::format("no column '{}': the first row names {}, separated by {}", field, columns_of(line),
                       row.separator == '\t' ? "tabs" : fmt::format("'{}'", row.separator));
  const bool nested = text.value.starts_with('{') || field.find('.') != field.npos;
  return fmt::format("member '{}' is {}, expected a string{}", field, kind_of(text),
                     nested ? "; nested fields are not supported" : "");
}

std::string DocumentReader::place(const Row& row) const {
  return fmt::format("{}:{}", inputs_.files[row.file].path.string(), row.place());
}

RecordProblem DocumentReader::bad(const Row& row, RecordProblem p, const std::string& why, ReadCounts& counts) const {
  const InputFile& file = inputs_.files[row.file];
  if (policy_.stop_on_bad) fail("{}: {}", place(row), why);
  counts.example(row, file, why);
  return p;
}

// URL and date; bytes that are not UTF-8 become U+FFFD, and the document stays.
void DocumentReader::read_origin(std::string_view head, DocumentView& d) {
  if (head.empty()) return;
  if (text::utf8_error(head) != head.npos) head_ = text::utf8_lossy(head), head = head_;
  const size_t cut = head.find('\n');
  d.url = head.substr(0, cut);
  d.date = head.substr(cut + 1, head.size() - cut - 2);
}

void DocumentReader::name_file(const InputFile& file, DocumentView& d) {
  d.file = file.named;
  if (text::utf8_error(d.file) != d.file.npos) file_ = text::utf8_lossy(d.file), d.file = file_;
}

RecordProblem DocumentReader::read_web_page(const Row& row, std::string_view bytes, DocumentView& d,
                                            ReadCounts& counts) {
  read_page(row.response ? PageForm::response : PageForm::html, bytes, policy_.max_row, page_);
  switch (page_.outcome) {
    case WebPage::Outcome::text:
      break;
    case WebPage::Outcome::empty:
      return RecordProblem::empty_page;
    case WebPage::Outcome::other_type:
      counts.count_type(page_.type);
      return RecordProblem::other_type;
    case WebPage::Outcome::damaged:
      return bad(row, RecordProblem::bad_body, page_.why, counts);
    case WebPage::Outcome::too_long:
      return bad(row, RecordProblem::too_long, "decompressed, longer than a row may be", counts);
  }
  d.text = page_.text, d.title = page_.title, d.mime = page_.type, d.license = page_.license;
  if (page_.guessed) ++counts.guessed;
  if (page_.replaced) {
    if (policy_.stop_on_bad) return bad(row, RecordProblem::bad_utf8, "not all bytes are of its encoding", counts);
    d.replaced = true, ++counts.replaced;
  }
  if (row.truncated || page_.truncated) {
    if (counts.truncated++ == 0) counts.first_truncated = place(row);
  }
  return RecordProblem::none;
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
                 row.problem == RecordProblem::cut       ? "the file ends inside this record"
                 : row.problem == RecordProblem::damaged ? "not a WARC record: skipped to the next one"
                                                         : "longer than a row may be",
                 counts);
  }
  const std::string_view bytes = block.text(row);
  if (file.form == InputForm::html || file.form == InputForm::text) name_file(file, d);
  if (file.form == InputForm::html || row.response) {
    read_origin(block.head(row), d);
    return read_web_page(row, bytes, d, counts);
  }
  const size_t error = is_ascii(bytes) ? bytes.npos : text::utf8_error(bytes);
  std::string_view sound = bytes;
  if (error != bytes.npos) {
    if (!policy_.replace_utf8) {
      const bool wide = row.row == 0 && (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"));
      return bad(row, RecordProblem::bad_utf8,
                 wide ? "the file is UTF-16: convert it to UTF-8"
                      : fmt::format("not valid UTF-8 at byte {} of the record", error),
                 counts);
    }
    mended_ = text::utf8_lossy(bytes);
    sound = mended_;
    d.replaced = true;
  }
  if (is_table(file.form) && sound.starts_with(kBadCsvRow))
    return bad(row, RecordProblem::bad_csv, std::string(sound.substr(1)), counts);
  if (file.form == InputForm::parquet && sound.starts_with(kDamagedParquetRow))
    return bad(row, RecordProblem::damaged, std::string(sound.substr(1)), counts);
  if (is_lines(file.form)) {
    std::string why;
    RecordProblem p = RecordProblem::none;
    d.table = is_table(file.form);
    if (!read_members(sound, d, why, p)) {
      if (why.empty()) why = without_text(row, sound, d, counts);
      if (p == RecordProblem::bad_json && row.row == 0) why += several_lines(sound);
      return bad(row, p, why, counts);
    }
  } else {
    d.text = sound;
    read_origin(block.head(row), d);
    if (row.truncated && counts.truncated++ == 0) counts.first_truncated = place(row);
  }
  if (d.replaced) ++counts.replaced;
  if (d.mended) ++counts.mended;
  if (!d.scored) ++counts.unscored;
  if (!d.own_id.empty()) ++counts.own_ids;
  return RecordProblem::none;
}

}  // namespace quern::corpus
