// Environment `caesar`: a word of d + 3 letters, encoded or decoded by a shift of the alphabet.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

class Caesar : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t shift = between(r, 1, std::min<int64_t>(3 + 2 * difficulty, 25));
    const bool decode = r.below(2) == 1;
    std::string plain, coded, trace;
    for (int64_t i = 0; i < difficulty + 3; ++i) {
      plain += static_cast<char>('a' + r.below(26));
      coded += static_cast<char>('a' + (plain.back() - 'a' + shift) % 26);
      trace += fmt::format("{}{} -> {}", i ? ", " : "", decode ? coded.back() : plain.back(),
                           decode ? plain.back() : coded.back());
    }
    const char* places = shift == 1 ? "place" : "places";
    Problem p{.key = fmt::format("{} {}", plain, shift)};
    p.question = decode
                     ? fmt::format(
                           "A word was encoded by replacing each letter with the letter {} {} later in the alphabet "
                           "(after z comes a). The result is {}. What was the word?",
                           shift, places, coded)
                     : fmt::format(
                           "Encode the word {} by replacing each letter with the letter {} {} later in the alphabet "
                           "(after z comes a).",
                           plain, shift, places);
    p.steps = fmt::format("{} {} {}: {}.", shift, places, decode ? "back" : "on", trace);
    p.answer = decode ? plain : coded;
    return p;
  }
};

}  // namespace

void register_caesar(EnvironmentRegistry& r) {
  r.add("caesar", "a word encoded or decoded by a shift of the alphabet", std::make_unique<Caesar>(),
        "strings and languages");
}

}  // namespace quern::gym
