// Solutions are put into the equations of the question, which have no other: their matrix has full rank modulo a
// prime.
#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

constexpr int64_t kPrime = 1000003;

struct Row {
  std::map<std::string, int64_t> factors;
  int64_t sum = 0;
};

std::vector<Row> rows_of(const Problem& p) {
  static const std::regex term("(^|- |\\+ |^-)?(?:(\\d+) \\* )?([a-z]\\d*)");
  std::string all = p.question.substr(p.question.find(": ") + 2);
  all = all.substr(0, all.find('.'));
  std::vector<Row> out;
  for (size_t i = 0, end; i <= all.size(); i = end + 2) {
    end = std::min(all.find("; ", i), all.size());
    const std::string text = all.substr(i, end - i), left = text.substr(0, text.find(" = "));
    Row row;
    row.sum = std::stoll(text.substr(text.find(" = ") + 3));
    for (std::sregex_iterator k(left.begin(), left.end(), term), stop; k != stop; ++k) {
      const int64_t size = (*k)[2].matched ? std::stoll((*k)[2]) : 1;
      const bool minus = k->position() == 0 ? left[0] == '-' : (*k)[1].str().starts_with('-');
      row.factors[(*k)[3]] = minus ? -size : size;
    }
    out.push_back(row);
  }
  return out;
}

bool regular(std::vector<Row> rows) {
  const auto power = [](int64_t b, int64_t e) {
    int64_t v = 1;
    for (; e > 0; e >>= 1, b = b * b % kPrime)
      if (e & 1) v = v * b % kPrime;
    return v;
  };
  std::map<std::string, int64_t> names;
  for (const Row& r : rows)
    for (const auto& [name, f] : r.factors) names[name] = 0;
  if (names.size() != rows.size()) return false;
  for (const auto& [name, none] : names) {
    size_t at = 0;
    while (at < rows.size() && rows[at].factors[name] % kPrime == 0) ++at;
    if (at == rows.size()) return false;
    Row top = rows[at];
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
    const int64_t inverse = power((top.factors[name] % kPrime + kPrime) % kPrime, kPrime - 2);
    for (Row& r : rows) {
      const int64_t by = r.factors[name] % kPrime * inverse % kPrime;
      for (const auto& [other, f] : top.factors) r.factors[other] = (r.factors[other] - by * f) % kPrime;
    }
  }
  return true;
}

std::map<std::string, int64_t> values_of(const std::string& answer) {
  std::map<std::string, int64_t> out;
  static const std::regex item("([a-z]\\d*) = (-?\\d+)");
  for (std::sregex_iterator i(answer.begin(), answer.end(), item), end; i != end; ++i)
    out[(*i)[1]] = std::stoll((*i)[2]);
  return out;
}

TEST(LinearSystems, HaveOneSolution) {
  each_generated("linear_systems", [](const Problem& p) {
    const std::vector<Row> rows = rows_of(p);
    ASSERT_EQ(rows.size(), static_cast<size_t>(2 + p.difficulty / 2));
    const auto values = values_of(p.answer);
    for (const Row& row : rows) {
      int64_t sum = 0;
      for (const auto& [name, f] : row.factors) sum += f * values.at(name);
      EXPECT_EQ(sum, row.sum);
    }
    EXPECT_TRUE(regular(rows));
  });
}

TEST(LinearSystems, AcceptsAnyOrderAndNothingElse) {
  const NamedEnvironment& e = plugin_environments().find("linear_systems");
  each_generated("linear_systems",
                 [&](const Problem& p) {
                   std::string back, off;
                   for (const auto& [name, value] : values_of(p.answer)) {
                     back = fmt::format("{}={}{}{}", name, value, back.empty() ? "" : " ; ", back);
                     off += fmt::format("{}{} = {}", off.empty() ? "" : ", ", name, value + (off.empty() ? 1 : 0));
                   }
                   EXPECT_EQ(e.verify(p, "Answer: " + back).reward, 1) << back;
                   EXPECT_EQ(e.verify(p, off).reward, 0) << off;
                   EXPECT_EQ(e.verify(p, p.answer + ", a = 1").reward, 0);
                 },
                 {0, 1, 4, 60});
  const Problem p = e.generate(1, 0);
  EXPECT_EQ(e.verify(p, p.answer.substr(0, p.answer.find(','))).reason, "b is missing");
  EXPECT_EQ(e.verify(p, "a + b").reason, "a value is not in the form a = 1");
  EXPECT_EQ(e.verify(p, "z99999999999 = 1").reason, "a value is not in the form a = 1");
}

TEST(LinearSystems, RefusesMutations) {
  check_mutations("linear_systems", [](const Problem& p, const std::string& a) {
    static const std::regex form(" ?[a-z] ?= ?[-+]?\\d+ ?([,;] ?[a-z] ?= ?[-+]?\\d+ ?)*"),
        item("([a-z]) ?= ?([-+]?\\d+)");
    if (!std::regex_match(a, form)) return false;
    std::map<std::string, int64_t> values;
    for (std::sregex_iterator i(a.begin(), a.end(), item), end; i != end; ++i)
      if (!values.emplace((*i)[1], std::stoll((*i)[2])).second) return false;
    return values == values_of(p.answer);
  });
}

TEST(LinearSystems, HasTheProperties) { check_environment("linear_systems"); }

}  // namespace
}  // namespace quern::gym
