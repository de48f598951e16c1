#include "quern/corpus/grades/grader.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"

namespace quern::corpus {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kPassage = 1000, kLongest = 3000;  // bytes

std::string words_fingerprint() { return fmt::format("{:016x}", encoders::shipped_words().fingerprint()); }

}  // namespace

size_t grader_width() { return kPassageFeatures + static_cast<size_t>(encoders::shipped_words().width()); }

void grader_inputs(std::string_view passage, Grader::Scratch& s) {
  s.x.resize(grader_width());
  passage_features(passage, std::span<float, kPassageFeatures>(s.x.data(), kPassageFeatures));
  encoders::shipped_words().embed(passage, s.reader, std::span<float>(s.x).subspan(kPassageFeatures));
}

void for_each_passage(std::string_view text, const std::function<void(std::string_view)>& f) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find("\n\n", std::min(begin + kPassage, text.size()));
    if (end == text.npos || text.size() - end < kPassage / 2) end = text.size();
    if (end - begin > kLongest) {  // a paragraph without an end: at a space, never within a character
      end = begin + kLongest;
      if (const size_t space = text.rfind(' ', end); space != text.npos && space > begin + kPassage) end = space;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    }
    f(text.substr(begin, end - begin));
    begin = end;
  }
}

Grader::Grader(GraderScale scale, double bias, std::vector<double> weights)
    : scale_(std::move(scale)), bias_(bias), weights_(std::move(weights)) {}

Grader Grader::parse(std::string_view json, const std::string& name) {
  const Json j = Json::parse(json, name);
  const Json* version = j.is_object() ? j.find("grader") : nullptr;
  if (!version || !version->is_number()) fail("{}: not a grader of train-classifier", name);
  if (version->as_int("grader") != kVersion)
    fail("{}: version {} of graders, expected {}", name, version->as_int("grader"), kVersion);
  if (const std::string words = j.at("words").as_string("words"); words != words_fingerprint())
    fail("{}: trained with another word encoder than that of this program: train it again", name);
  std::vector<double> weights;
  for (const Json& w : j.at("weights").as_array()) weights.push_back(w.as_double("weights"));
  if (weights.size() != grader_width())
    fail("{}: {} weights, expected {}: train it again", name, weights.size(), grader_width());
  return {{j.at("field").as_string("field"), j.at("min").as_double("min"), j.at("max").as_double("max")},
          j.at("bias").as_double("bias"),
          std::move(weights)};
}

Grader Grader::load(const std::filesystem::path& file) { return parse(read_file(file), file.string()); }

std::string Grader::json() const {
  std::string weights;
  for (const double w : weights_) weights += fmt::format("{}{:.5g}", weights.empty() ? "" : ",", w);
  return fmt::format(R"({{"grader":{},"field":{},"min":{},"max":{},"words":"{}","bias":{:.6g},"weights":[{}]}})"
                     "\n",
                     kVersion, Json(scale_.field).dump(), scale_.min, scale_.max, words_fingerprint(), bias_,
                     weights);
}

void grade_all(std::span<const Grader* const> graders, std::string_view utf8, Grader::Scratch& s,
               std::span<double> out) {
  std::ranges::fill(out, 0.0);
  double size = 0;
  for_each_passage(utf8, [&](std::string_view passage) {
    grader_inputs(passage, s);
    if (s.x[0] == 0.0f) return;  // no word
    const auto n = static_cast<double>(passage.size());
    for (size_t k = 0; k < graders.size(); ++k) {
      double g = graders[k]->bias_;
      for (size_t i = 0; i < s.x.size(); ++i) g += graders[k]->weights_[i] * static_cast<double>(s.x[i]);
      out[k] += n * g;
    }
    size += n;
  });
  for (size_t k = 0; k < graders.size(); ++k) {
    const GraderScale& scale = graders[k]->scale_;
    out[k] = size == 0 ? scale.min : std::clamp(out[k] / size, scale.min, scale.max);
  }
}

double Grader::grade(std::string_view utf8, Scratch& scratch) const {
  const Grader* self = this;
  double grade = 0;
  grade_all({&self, 1}, utf8, scratch, {&grade, 1});
  return grade;
}

}  // namespace quern::corpus
