// Environment `string_edit`: the Levenshtein distance of two words of about d + 3 letters.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 27;  // the worked solution is the table of distances, which grows with the square

char letter(Rng& r) { return static_cast<char>('a' + r.below(5)); }

std::string edited(std::string s, Rng& r, int64_t edits) {
  for (; edits > 0; --edits) {
    const size_t at = r.below(s.size());
    switch (r.below(3)) {
      case 0:
        s[at] = letter(r);
        break;
      case 1:
        s.insert(at, 1, letter(r));
        break;
      default:
        if (s.size() > 1) s.erase(at, 1);
    }
  }
  return s;
}

class StringEdit : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t d = std::min(difficulty, kHardest);
    std::string from;
    for (int64_t i = 0; i < d + 3; ++i) from += letter(r);
    const std::string to = edited(from, r, 1 + between(r, 0, 1 + d / 2));
    Problem p{.key = from + " " + to};
    p.question = fmt::format(
        "An edit inserts one letter, deletes one letter or replaces one letter. What is the smallest number of "
        "edits that turns {} into {}?",
        from, to);
    std::vector<int64_t> row(to.size() + 1);
    for (size_t j = 0; j <= to.size(); ++j) row[j] = static_cast<int64_t>(j);
    p.steps = fmt::format("Start: {}.", fmt::join(row, " "));
    for (char c : from) {
      int64_t diagonal = row[0]++;
      for (size_t j = 1; j < row.size(); ++j) {
        const int64_t replaced = diagonal + (c == to[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
      }
      p.steps += fmt::format(" {}: {}.", c, fmt::join(row, " "));
    }
    p.answer = std::to_string(row.back());
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_number(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_string_edit(EnvironmentRegistry& r) {
  r.add("string_edit", "the edit distance of two words", std::make_unique<StringEdit>(), "strings and languages");
}

}  // namespace quern::gym
