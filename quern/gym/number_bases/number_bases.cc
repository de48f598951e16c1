// Environment `number_bases`: numbers written in another base, and sums of d + 2 digits in one base.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::array<int64_t, 8> kBases = {10, 2, 3, 4, 5, 8, 12, 16};

std::string in_base(int64_t v, int64_t base) {
  std::string s;
  do s += kDigits[static_cast<size_t>(v % base)];
  while ((v /= base) > 0);
  return {s.rbegin(), s.rend()};
}

std::string letters_note(int64_t a, int64_t b) {
  return std::max(a, b) > 10 ? " The digits above 9 are a, b, c, d, e, f." : "";
}

Problem conversion(Rng& r, int64_t d) {
  int64_t high = 30;
  for (int64_t i = 0; i < std::min<int64_t>(d, 12); ++i) high *= 5;
  const int64_t from = d < 2 ? (r.below(2) == 1 ? 10 : between(r, 2, 5)) : kBases[r.below(kBases.size())],
                v = between(r, high / 6, high);
  int64_t to = from == 10 ? between(r, 2, d < 2 ? 5 : 9) : 10;
  if (d >= 3) do
      to = kBases[r.below(kBases.size())];
    while (to == from);
  const std::string given = in_base(v, from);
  Problem p;
  if (from != 10) {
    int64_t value = 0;
    for (char c : given) {
      const auto digit = static_cast<int64_t>(kDigits.find(c));
      p.steps += fmt::format("{} * {} + {} = {}. ", value, from, digit, value * from + digit);
      value = value * from + digit;
    }
  }
  for (int64_t left = v; to != 10 && left > 0; left /= to)
    p.steps += fmt::format("{} = {} * {} + {}. ", left, left / to, to, left % to);
  p.steps.pop_back();
  p.question = fmt::format("The number {} is written in base {}. Write it in base {}.{}", given, from, to,
                           letters_note(from, to));
  p.answer = in_base(v, to);
  p.key = fmt::format("{} in {} to {}", given, from, to);
  p.facts.set("base", to);
  return p;
}

Problem addition(Rng& r, int64_t d) {
  const int64_t base = kBases[1 + r.below(kBases.size() - 1)], n = d + 2;
  std::string a, b, sum, steps;  // the last digit first
  int64_t carry = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t low = i + 1 == n ? 1 : 0, x = between(r, low, base - 1), y = between(r, low, base - 1),
                  s = x + y + carry;
    a += kDigits[static_cast<size_t>(x)], b += kDigits[static_cast<size_t>(y)],
        sum += kDigits[static_cast<size_t>(s % base)];
    steps += fmt::format("{} + {} + {} = {} = {} * {} + {}: write {}, carry {}. ", x, y, carry, s, s / base, base,
                         s % base, sum.back(), s / base);
    carry = s / base;
  }
  if (carry > 0) sum += kDigits[static_cast<size_t>(carry)];
  steps.pop_back();
  const auto back = [](const std::string& s) { return std::string(s.rbegin(), s.rend()); };
  Problem p{.steps = std::move(steps), .answer = back(sum)};
  p.question = fmt::format("The numbers {} and {} are written in base {}. Write their sum in base {}.{}", back(a),
                           back(b), base, base, letters_note(base, base));
  p.key = fmt::format("{} + {} in {}", std::min(back(a), back(b)), std::max(back(a), back(b)), base);
  p.facts.set("base", base);
  return p;
}

class NumberBases : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    return difficulty < 2 || r.below(2) == 1 ? conversion(r, difficulty) : addition(r, difficulty);
  }

  // Zeros in front and the mark 0x of base 16 change nothing.
  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::string answer = final_answer(reply);
    const int64_t base = p.facts.at("base").as_int();
    std::string_view s = answer;
    if (base == 16 && s.starts_with("0x")) s.remove_prefix(2);
    if (s.empty() || s.find_first_not_of(kDigits.substr(0, static_cast<size_t>(base))) != s.npos)
      return {0, fmt::format("the answer is not one number in base {}", base)};
    s.remove_prefix(std::min(s.find_first_not_of('0'), s.size() - 1));
    if (s == p.answer) return {1, "right"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_number_bases(EnvironmentRegistry& r) {
  r.add("number_bases", "numbers written in another base, and sums in one base", std::make_unique<NumberBases>(),
        "arithmetic and algebra");
}

}  // namespace quern::gym
