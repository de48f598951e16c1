// "instructions": {"instructions": [{"kind": …}, …]}. The reward is the share that is followed.
#include "quern/text/unicode/utf8.h"
#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/instructions.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

constexpr size_t kMaxInstructions = 64, kMaxReply = 1 << 20;

class InstructionsVerifier : public Verifier {
 public:
  explicit InstructionsVerifier(const Json& e) {
    const Json* list = e.find("instructions");
    if (!list || !list->is_array() || list->as_array().empty() || list->as_array().size() > kMaxInstructions)
      fail("field 'instructions': expected a list of 1 to {} instructions", kMaxInstructions);
    for (const Json& one : list->as_array()) {
      try {
        checks_.push_back(make_instruction(one));
      } catch (const Error& error) {
        fail("field 'instructions', item {}: {}", checks_.size() + 1, error.what());
      }
    }
  }

  Verdict judge(std::string_view reply) const override {
    const std::string_view answer = trimmed(after_thinking(reply));
    if (answer.empty()) return {0, "no answer"};
    if (answer.size() > kMaxReply) return {0, fmt::format("more than {} bytes", kMaxReply)};
    const std::string text = text::utf8_lossy(answer);
    std::string reason;
    size_t followed = 0;
    for (size_t i = 0; i < checks_.size(); ++i) {
      const auto wrong = checks_[i](text);
      followed += wrong ? 0 : 1;
      if (wrong) reason += fmt::format("{}instruction {}: {}", reason.empty() ? "" : "; ", i + 1, *wrong);
    }
    if (followed == checks_.size()) return {1, "every instruction is followed"};
    return {static_cast<double>(followed) / static_cast<double>(checks_.size()), reason};
  }

 private:
  std::vector<InstructionCheck> checks_ = {};
};

}  // namespace

std::unique_ptr<const Verifier> make_instructions(const Json& expectation) {
  check_fields(expectation, {"instructions"});
  return std::make_unique<InstructionsVerifier>(expectation);
}

}  // namespace quern::verify
