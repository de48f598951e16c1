#include "quern/corpus/stages/annotate.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/filters/linear_classifier.h"
#include "quern/corpus/filters/zyda_features.h"
#include "quern/corpus/grades/shipped_graders.h"
#include "quern/corpus/io/json_line.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/language/languages.h"
#include "quern/corpus/licenses/licenses.h"
#include "quern/corpus/pii/pii.h"
#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr const char* kId = "id";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string text_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// Names and values of a line that is a JSON object, as they stand there: numbers keep all their digits.
SideFiles::Members raw_members(std::string_view line, const Json& object, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.as_object()) names.push_back(name);
  std::vector<JsonMember> found(names.size());
  std::vector<char> scratch(line.size());
  if (const char* problem = read_json_line(line, names, found, scratch.data())) fail("{}: {}", where, problem);
  if (text::utf8_error(line) != std::string_view::npos) fail("{}: expected UTF-8", where);
  SideFiles::Members members;
  for (size_t i = 0; i < names.size(); ++i)
    if (found[i].kind != JsonMember::Kind::missing) members.emplace_back(names[i], found[i].raw);
  return members;
}

std::string features_json(std::string_view text, std::string& squeezed, std::vector<std::string_view>& words) {
  ZydaFeatures f;
  zyda_features(text, squeezed, f);
  const auto lines = static_cast<uint64_t>(std::ranges::count(text, '\n')) + !text.empty();
  split_words(text, words);
  uint64_t letters = 0;
  for (const std::string_view w : words) letters += text::utf8_length(w);
  const double mean = words.empty() ? 0 : static_cast<double>(letters) / static_cast<double>(words.size());
  return fmt::format(
      "{{\"characters\":{},\"words\":{},\"lines\":{},\"mean_word_length\":{:.4g},\"digits\":{:.4g},\"symbols\":{:.4g}"
      "}}",
      f.chars, words.size(), lines, mean, f.fraction(f.digits), f.fraction(f.symbols));
}

struct AnnotateModels {
  AnnotateSettings settings;
  std::vector<std::string> sources, rules;
  bool named = false;  // the sources are
  std::shared_ptr<const LinearClassifier> classifier;
  std::shared_ptr<const Grader> grader;
  std::shared_ptr<const SideFiles> sides;
};

class AnnotateColumns : public RowColumns {
 public:
  explicit AnnotateColumns(std::shared_ptr<const AnnotateModels> m) : m_(std::move(m)) {}
  bool columns(const DocumentView& d, const FilterResult& result, const Add& add) override {
    const AnnotateSettings& s = m_->settings;
    add(kId, document_id_json(d));
    if (m_->named) add("source", text_json(m_->sources[d.source]));
    const auto put = [&](const char* name, std::string_view value) { add(s.prefix + name, value); };
    if (s.language) {
      const NgramClassifier& c = shipped_languages();
      const NgramClassifier::Answer a = c.classify(d.text, scratch_);
      put("language", text_json(a.label < 0 ? kUnknownLanguage : c.labels()[static_cast<size_t>(a.label)]));
      put("language_score", fmt::format("{:.4f}", a.probability));
    }
    if (s.features) put("features", features_json(d.text, squeezed_, words_));
    if (s.grades) {
      const Grader* const graders[] = {&shipped_education(), &shipped_reading_level()};
      double grades[2];
      grade_all(graders, d.text, grading_, grades);
      for (size_t i = 0; i < 2; ++i) put(graders[i]->scale().field.c_str(), fmt::format("{:.2f}", grades[i]));
    }
    if (s.pii) put("pii", pii_json(d.text));
    if (s.license) put("licenses", licenses_json(d));
    if (m_->grader)
      put(m_->grader->scale().field.c_str(), fmt::format("{:.4g}", m_->grader->grade(d.text, grading_)));
    if (!m_->rules.empty()) put("failing", failing_json(result, m_->rules));
    if (m_->classifier) put("quality", fmt::format("{:.4f}", m_->classifier->probability(features_.make(d.text))));
    const SideFiles::Members* found = m_->sides ? m_->sides->find(document_id_json(d)) : nullptr;
    if (!found) return false;
    for (const auto& [name, value] : *found) add(s.prefix + name, value);
    return true;
  }

 private:
  std::shared_ptr<const AnnotateModels> m_;
  NgramClassifier::Scratch scratch_;
  FeatureMaker features_;
  Grader::Scratch grading_;
  std::string squeezed_;
  std::vector<std::string_view> words_;
  std::vector<PiiSpan> pii_;
  LicenseScratch licenses_;

  std::string pii_json(std::string_view text) {
    find_pii(text, PiiKinds::all(), pii_);
    std::array<uint64_t, kPiiKinds> counts{};
    for (const PiiSpan& f : pii_) ++counts[static_cast<size_t>(f.kind)];
    std::string all = "{";
    for (size_t k = 0; k < kPiiKinds; ++k)
      if (counts[k] > 0) all += fmt::format("{}\"{}\":{}", all.size() > 1 ? "," : "", kPiiNames[k], counts[k]);
    return all + "}";
  }

  std::string licenses_json(const DocumentView& d) {
    std::string all = "[";
    for (const std::string& id : find_licenses(d.text, d.license, licenses_))
      all += fmt::format("{}\"{}\"", all.size() > 1 ? "," : "", id);
    return all + "]";
  }
};

}  // namespace

SideFiles::SideFiles(const std::vector<std::string>& files) {
  for (const std::string& f : files) read(f);
}

const SideFiles::Members* SideFiles::find(std::string_view id_json) const {
  // A text may be written with other escapes than those that a key has.
  std::string key(id_json);
  if (key.find('\\') != key.npos) key = text_json(Json::parse(key, "an id").as_string("an id"));
  const auto at = rows_.find(key);
  return at == rows_.end() ? nullptr : &at->second;
}

std::vector<std::string> SideFiles::notes() const {
  std::vector<std::string> all;
  if (mended_ > 0)
    all.push_back(fmt::format(
        "fixed {} rows of side files that Python wrote, the first is {}: NaN and Infinity became null, halves of "
        "surrogate pairs U+FFFD",
        mended_, first_mended_));
  if (twice_ > 0)
    all.push_back(fmt::format(
        "{} rows of side files give an id that was there another value for a field; the first value counts: {}",
        twice_, first_twice_));
  return all;
}

void SideFiles::add(const std::string& id, Members&& members, const std::string& where) {
  Members& known = rows_[id];
  bool twice = false;
  for (auto& m : members) {
    if (m.first == kId) continue;
    const auto at = std::ranges::find(known, m.first, &Members::value_type::first);
    if (at == known.end()) {
      known.push_back(std::move(m));
    } else if (at->second != m.second) {
      if (first_twice_.empty()) first_twice_ = fmt::format("{}: id {}, field '{}'", where, id, m.first);
      twice = true;
    }
  }
  twice_ += twice;
}

void SideFiles::read(const std::string& file) {
  const std::unique_ptr<ByteStream> in =
      file.ends_with(".parquet") ? open_parquet(file) : open_bytes(std::filesystem::path(file));
  std::string text, piece(size_t{1} << 20, ' ');
  uint64_t number = 0;
  std::vector<char> scratch;
  const auto scratch_of = [&](std::string_view line) {
    scratch.resize(std::max(scratch.size(), line.size()));
    return scratch.data();
  };
  const auto row = [&](std::string_view line) {
    if (++number == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    const std::string where = fmt::format("{}:{}", file, number);
    if (line.size() > ReadPolicy().max_row) fail("{}: a row longer than {} bytes", where, ReadPolicy().max_row);
    std::string mended;
    if (read_json_line(line, {}, {}, scratch_of(line)) && mend_json_line(mended = line)) {
      line = mended;
      if (mended_++ == 0) first_mended_ = where;
    }
    const Json j = Json::parse(line, where);
    const Json* id = j.is_object() ? j.find(kId) : nullptr;
    if (!id || !(id->is_string() || id->is_number())) fail("{}: expected a JSON object with an id", where);
    Members all = raw_members(line, j, where);
    const auto own = std::ranges::find(all, kId, &Members::value_type::first);
    add(id->is_string() ? text_json(id->as_string()) : std::string(own->second), std::move(all), where);
  };
  while (const size_t n = in->read(piece.data(), piece.size())) {
    text.append(piece, 0, n);
    size_t at = 0;
    for (size_t end; (end = text.find('\n', at)) != text.npos; at = end + 1)
      row(std::string_view(text).substr(at, end - at));
    text.erase(0, at);
  }
  if (!text.empty()) row(text);
}

RowColumnsMaker annotate_columns(const AnnotateSettings& s, const Inputs& inputs,
                                 const std::vector<std::string>& rules, std::vector<std::string>& notes) {
  auto m = std::make_shared<AnnotateModels>();
  m->settings = s, m->sources = inputs.sources, m->rules = rules;
  m->named = names_sources(inputs);
  if (!s.classifier.empty())
    m->classifier = std::make_shared<const LinearClassifier>(LinearClassifier::load(s.classifier));
  if (!s.grader.empty()) m->grader = std::make_shared<const Grader>(Grader::load(s.grader));
  if (!s.labels.empty()) m->sides = std::make_shared<const SideFiles>(s.labels);
  if (m->sides) notes = m->sides->notes();
  return [m = std::shared_ptr<const AnnotateModels>(std::move(m))] { return std::make_unique<AnnotateColumns>(m); };
}

}  // namespace quern::corpus
