// Verifiers of replies to questions that are data, not environments: an expectation is a JSON object
// {"verifier": "math", "answer": "3/4", …}. docs/gym/verifiers.md describes each verifier and its fields.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/verify/verdict.h"

namespace quern::verify {

// Stateless after construction: one object serves all threads.
class Verifier {
 public:
  virtual ~Verifier() = default;
  // Judges a reply, any bytes: deterministic, in time that is linear in the reply, never throws; but code runs as long
  // as its limits let it, and throws Error where the sandbox fails.
  virtual Verdict judge(std::string_view reply) const = 0;
};

// Throws Error naming the field of an expectation that is ill-formed.
std::unique_ptr<const Verifier> make_verifier(const Json& expectation);
Verdict judge(const Json& expectation, std::string_view reply);

struct VerifierInfo {
  const char *name, *summary;
  std::unique_ptr<const Verifier> (*make)(const Json& expectation);
};

const std::vector<VerifierInfo>& verifiers();  // by name

// One each, for the table of verifiers().
std::unique_ptr<const Verifier> make_math(const Json& expectation);
std::unique_ptr<const Verifier> make_number(const Json& expectation);
std::unique_ptr<const Verifier> make_choice(const Json& expectation);
std::unique_ptr<const Verifier> make_code(const Json& expectation);  // where code cannot be run here: Error
std::unique_ptr<const Verifier> make_exact(const Json& expectation);
std::unique_ptr<const Verifier> make_list(const Json& expectation);
std::unique_ptr<const Verifier> make_set(const Json& expectation);
std::unique_ptr<const Verifier> make_regex(const Json& expectation);
std::unique_ptr<const Verifier> make_json(const Json& expectation);
std::unique_ptr<const Verifier> make_instructions(const Json& expectation);

}  // namespace quern::verify
