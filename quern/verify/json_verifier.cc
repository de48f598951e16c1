// "json": {"schema": JSON Schema, "equals": value}; one of them at least.
#include "quern/verify/expectation.h"
#include "quern/verify/json_reply.h"
#include "quern/verify/json_schema.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

class JsonVerifier : public Verifier {
 public:
  explicit JsonVerifier(const Json& e) {
    const Json *schema = e.find("schema"), *equals = e.find("equals");
    if (!schema && !equals) fail("field 'schema' or 'equals' is missing");
    if (schema) {
      try {
        schema_ = std::make_unique<JsonSchema>(*schema);
      } catch (const Error& error) {
        fail("field 'schema': {}", error.what());
      }
    }
    if (equals) equals_ = *equals;
    if (!schema_ || !equals_) return;
    if (const auto wrong = schema_->complaint(*equals_)) fail("field 'equals' is not valid by 'schema': {}", *wrong);
  }

  Verdict judge(std::string_view reply) const override {
    const JsonReply found = json_reply(reply);
    if (!found.value) return {0, found.problem};
    try {
      if (schema_)
        if (const auto wrong = schema_->complaint(*found.value)) return {0, *wrong};
    } catch (const Error& e) {  // a pattern that gave up
      return {0, e.what()};
    }
    if (equals_ && !equal_json(*equals_, *found.value)) return {0, "the value is not the expected one"};
    return {1, schema_ ? "valid by the schema" : "the expected value"};
  }

 private:
  std::unique_ptr<const JsonSchema> schema_ = {};
  std::optional<Json> equals_ = {};
};

}  // namespace

std::unique_ptr<const Verifier> make_json(const Json& expectation) {
  check_fields(expectation, {"schema", "equals"});
  return std::make_unique<JsonVerifier>(expectation);
}

}  // namespace quern::verify
