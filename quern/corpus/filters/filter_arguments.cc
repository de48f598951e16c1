#include "quern/corpus/filters/filter_arguments.h"

#include <charconv>

#include "quern/base/error.h"

namespace quern::corpus {

std::vector<std::string> filter_arguments(const std::string& all, size_t n, const char* form) {
  std::vector<std::string> parts(n);
  size_t end = all.size();
  for (size_t k = n - 1; k > 0; --k) {
    const size_t cut = end == 0 ? all.npos : all.rfind(':', end - 1);
    if (cut == all.npos) fail("filter '{}': expected {}", all, form);
    parts[k] = all.substr(cut + 1, end - cut - 1);
    end = cut;
  }
  parts[0] = all.substr(0, end);
  return parts;
}

namespace {

double bounded_number(const std::string& word, double min, double max, const char* kind, const char* form) {
  double v = 0;
  const char* end = word.data() + word.size();
  if (word.empty() || std::from_chars(word.data(), end, v).ptr != end || !(v >= min && v <= max))
    fail("'{}': expected a {} from {} to {}, as in {}", word, kind, min, max, form);
  return v;
}

}  // namespace

double number_argument(const std::string& word, double min, double max, const char* form) {
  return bounded_number(word, min, max, "number", form);
}

double probability_argument(const std::string& word, const char* form) {
  return bounded_number(word, 0, 1, "probability", form);
}

}  // namespace quern::corpus
