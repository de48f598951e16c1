#include "quern/capi/row_stream.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::capi {
namespace {

constexpr size_t kBatchBytes = size_t{4} << 20;

constexpr std::array<std::string_view, 5> kDocumentFields = {"text", "source", "url", "date", "line"};
constexpr std::pair<std::string_view, ArrowType> kMemberTypes[] = {{"text", ArrowType::text},
                                                                   {"integer", ArrowType::integer},
                                                                   {"number", ArrowType::number},
                                                                   {"truth", ArrowType::truth}};

template <class T>
std::optional<T> read_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// A member that is missing, null or of another type is null; as text, numbers and objects stand as in their line. Cells of
// CSV are strings that may spell a number.
void add_member(const corpus::JsonMember& m, ArrowType type, ArrowColumn& to) {
  using Kind = corpus::JsonMember::Kind;
  if (m.kind == Kind::missing || (m.kind == Kind::other && m.value == "null")) return to.add_null();
  switch (type) {
    case ArrowType::integer:
      if (const auto whole = read_number<int64_t>(m.value)) return to.add(*whole);
      break;
    case ArrowType::number:
      if (const auto number = read_number<double>(m.value)) return to.add(*number);
      break;
    case ArrowType::truth:
      if (m.value == "true" || m.value == "false") return to.add_truth(m.value == "true");
      break;
    default:
      return to.add(m.value);
  }
  to.add_null();
}

class RowStream : public RecordSource {
 public:
  explicit RowStream(const RowStreamSettings& s) : documents_(s.rows, kBatchBytes) {
    if (s.columns.empty()) fail("options, columns: expected at least one");
    for (const std::string& column : s.columns) add_column(column);
    found_.resize(members_.size());
  }

  const std::vector<ArrowField>& fields() const override { return fields_; }

  std::optional<std::vector<ArrowColumn>> next() override {
    std::vector<ArrowColumn> columns;
    for (const ArrowField& f : fields_) columns.emplace_back(f.type);
    const bool any = documents_.next([&](const corpus::DocumentView& d) {
      read_line(d);
      for (size_t i = 0; i < places_.size(); ++i) add(d, places_[i], fields_[i].type, columns[i]);
    });
    return any ? std::optional(std::move(columns)) : std::nullopt;
  }

 private:
  // Which of kDocumentFields, or which member behind them.
  void add_column(const std::string& column) {
    const size_t colon = column.rfind(':');
    const auto field = std::ranges::find(kDocumentFields, column);
    if (field != kDocumentFields.end()) {
      places_.push_back(static_cast<size_t>(field - kDocumentFields.begin()));
      fields_.push_back({.name = column, .type = ArrowType::text});
      return;
    }
    const auto type = std::ranges::find(kMemberTypes, column.substr(std::min(colon, column.size() - 1) + 1),
                                        &std::pair<std::string_view, ArrowType>::first);
    if (colon == column.npos || colon == 0 || type == std::end(kMemberTypes))
      fail(
          "options, columns: '{}' is none: expected text, source, url, date, line, or NAME:TYPE of a member of the "
          "JSON lines, with text, integer, number or truth for the type{}",
          column, did_you_mean(column, {kDocumentFields.begin(), kDocumentFields.end()}));
    places_.push_back(kDocumentFields.size() + members_.size());
    members_.push_back(column.substr(0, colon));
    fields_.push_back({.name = members_.back(), .type = type->second});
  }

  void read_line(const corpus::DocumentView& d) {
    if (members_.empty()) return;
    scratch_.resize(std::max(scratch_.size(), d.line.size()));
    if (d.line.empty() || corpus::read_json_line(d.line, members_, found_, scratch_.data()))
      std::ranges::fill(found_, corpus::JsonMember());
  }

  void add(const corpus::DocumentView& d, size_t place, ArrowType type, ArrowColumn& to) const {
    if (place >= kDocumentFields.size()) return add_member(found_[place - kDocumentFields.size()], type, to);
    const std::array<std::string_view, kDocumentFields.size()> values = {d.text, documents_.source_of(d), d.url,
                                                                         d.date, d.line};
    to.add(values[place]);
  }

  DocumentBlocks documents_;
  std::vector<ArrowField> fields_;
  std::vector<size_t> places_;
  std::vector<std::string> members_;
  std::vector<corpus::JsonMember> found_;
  std::vector<char> scratch_;
};

}  // namespace

std::unique_ptr<RecordSource> row_stream(const RowStreamSettings& s) {
  check_rows(s.rows);
  return std::make_unique<RowStream>(s);
}

}  // namespace quern::capi
