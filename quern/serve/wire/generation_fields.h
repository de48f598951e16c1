// Sampling and generation fields of a request, named as in the OpenAI API and in other local servers.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>

#include "quern/base/json.h"
#include "quern/base/setting.h"
#include "quern/infer/engine/request.h"
#include "quern/models/checkpoint.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::serve {

// Typed access to a request's body; a wrong type is an ApiError that names the field. Absent and null are the same.
class Fields {
 public:
  explicit Fields(const Json& body) : body_(body) {}
  const Json* find(std::string_view name) const;
  std::optional<double> number(std::string_view name, double low = -Bounds::kNone, double high = Bounds::kNone) const;
  double whole_number(std::string_view name) const;  // of a field that is there
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;  // a string, or a list of them
  const Json& body() const { return body_; }

 private:
  const Json& body_;
};

// An ApiError for a field that is not known; `prefix` is put before its name.
void only_fields(const Json& body, std::string_view prefix, std::initializer_list<std::string_view> known);

inline constexpr int64_t kMaxPriority = 1'000'000;  // and as far below 0

double read_timeout(const Fields& f);  // seconds a request may take; 0: it does not say

// Everything but the token budget. Fields win over the model's generation_config.json, which wins over temperature 1.
infer::GenerateOptions read_generation(const Fields& f, const models::GenerationConfig& defaults,
                                       const text::Tokenizer& tokenizer, int64_t vocab_size);

}  // namespace quern::serve
