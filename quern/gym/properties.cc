#include "quern/gym/properties.h"

#include <algorithm>
#include <set>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"

namespace quern::gym {
namespace {

constexpr uint64_t kLongReplyEvery = 16;  // seeds: reading 100,000 characters costs more than all else
constexpr size_t kShown = 200;            // characters of a reply

// Replies that are wrong whatever was asked: nothing, the question, the answer with more in front or behind, several
// answers at once; if `p` has one right answer, another problem's answer.
std::vector<std::string> wrong_replies(const Problem& p, const Problem& other, uint64_t seed,
                                       const EnvironmentCheck& c) {
  std::vector<std::string> out = {"", "Answer:", "Answer: .", "Answer: nan", "Answer: \xff\xfe\n</think>"};
  if (seed % kLongReplyEvery == 0) out.emplace_back(100000, 'a');
  if (c.blank_only) return out;
  for (std::string reply : {p.question, "Answer: " + p.question, "Answer: " + p.answer + " 3",
                            "Answer: 3 " + p.answer, "Answer: " + p.answer + "\nAnswer: nothing"})
    out.push_back(std::move(reply));
  if (final_answer(other.answer) == final_answer(p.answer)) return out;
  out.push_back(fmt::format("Answer: {}, {}", p.answer, other.answer));
  if (c.several_right) return out;
  out.push_back("Answer: " + other.answer);
  out.push_back(fmt::format("<think>\nAnswer: {}\n</think>\n\nAnswer: {}", p.answer, other.answer));
  return out;
}

class PropertyChecker {
 public:
  PropertyChecker(const NamedEnvironment& e, const EnvironmentCheck& c) : e_(e), c_(c) {}
  PropertyReport run();

 private:
  Problem generate(uint64_t seed);
  void expect(bool holds, std::string_view property, const std::string& detail = "");
  void check_difficulty();
  void check_problem(const Problem& p, const Problem& other);
  void check_verdicts(const Problem& p, const Problem& other);
  void check_growth();
  void check_saturation(int64_t top);
  template <class F>
  void guarded(F&& f);

  const NamedEnvironment& e_;
  const EnvironmentCheck& c_;
  PropertyReport report_;
  int64_t difficulty_ = 0;
  uint64_t seed_ = 0;
};

Problem PropertyChecker::generate(uint64_t seed) {
  const Stopwatch watch;
  Problem p = e_.generate(seed, difficulty_);
  report_.seconds += watch.seconds(), ++report_.generated;
  return p;
}

void PropertyChecker::expect(bool holds, std::string_view property, const std::string& detail) {
  if (holds) return;
  ++report_.violations;
  if (report_.first.size() < kMaxViolationsKept)
    report_.first.push_back({std::string(property), difficulty_, seed_, detail});
}

void PropertyChecker::check_verdicts(const Problem& p, const Problem& other) {
  for (const std::string& reply : wrong_replies(p, other, seed_, c_)) {
    const Verdict v = e_.verify(p, reply);
    if (v.reward >= 0 && v.reward <= c_.wrong && !v.reason.empty()) continue;
    expect(v.reward >= 0 && v.reward <= c_.wrong, "a wrong reply earns too much",
           fmt::format("{}reply: {}\nearns {}: {}", plain_form(p), reply.substr(0, kShown), v.reward, v.reason));
    expect(!v.reason.empty(), "a verdict has a reason", plain_form(p) + "reply: " + reply.substr(0, kShown));
  }
  if (p.answer.empty()) return;
  for (const std::string& reply : {p.answer, plain_form(p), assistant_content(p)}) {
    const Verdict v = e_.verify(p, reply);
    if (v.reward != 1)
      expect(false, "the solution earns 1",
             fmt::format("{}reply: {}\nearns {}: {}", plain_form(p), reply, v.reward, v.reason));
  }
}

void PropertyChecker::check_problem(const Problem& p, const Problem& other) {
  const Problem again = generate(seed_);
  expect(plain_form(p) == plain_form(again) && p.facts == again.facts && p.key == again.key,
         "the same seed gives the same problem", plain_form(p) + plain_form(again));
  expect(!p.question.empty(), "a problem has a question");
  expect(!p.key.empty(), "a problem has a key", plain_form(p));
  for (const char* marker : {"Answer:", "<think>", "</think>"})
    expect(p.question.find(marker) == std::string::npos, "no question holds a marker of the answer", p.question);
  check_verdicts(p, other);
}

void PropertyChecker::check_difficulty() {
  std::set<std::string> questions;
  seed_ = 0;
  Problem p = generate(0);
  for (; seed_ < c_.seeds; ++seed_) {
    Problem next = generate(seed_ + 1);
    questions.insert(p.question), ++report_.problems;
    check_problem(p, next);
    p = std::move(next);
  }
  seed_ = 0;
  expect(questions.size() > std::min<size_t>(c_.seeds, 10) / 2, "problems of a difficulty differ",
         fmt::format("{} different questions of {}", questions.size(), c_.seeds));
}

void PropertyChecker::check_growth() {
  const auto length = [&](int64_t d) {
    difficulty_ = d;
    size_t sum = 0;
    for (seed_ = 0; seed_ < 50; ++seed_) {
      const Problem p = e_.generate(seed_, d);
      sum += p.question.size() + p.steps.size() + p.answer.size();
    }
    seed_ = 0;
    return sum;
  };
  const int64_t far = e_.environment->saturates_at().value_or(40);
  const size_t at_0 = length(0), at_half = length(far / 2), at_far = length(far);
  expect(at_0 < at_half && at_half < at_far, "problems get longer with the difficulty",
         fmt::format("{}, {} and {} characters at difficulties 0, {} and {}", at_0, at_half, at_far, far / 2, far));
}

// Beyond, the same random numbers give the same problem.
void PropertyChecker::check_saturation(int64_t top) {
  difficulty_ = top;
  for (seed_ = 0; seed_ < 20; ++seed_) {
    Rng a(seed_), b(seed_);
    const Problem p = e_.environment->generate(a, top), q = e_.environment->generate(b, top + 17);
    expect(plain_form(p) == plain_form(q), "problems stay the same beyond the last difficulty",
           plain_form(p) + plain_form(q));
  }
}

template <class F>
void PropertyChecker::guarded(F&& f) {
  try {
    f();
  } catch (const std::exception& x) {
    expect(false, "no exception", x.what());
  }
}

PropertyReport PropertyChecker::run() {
  for (int64_t d : c_.difficulties) {
    difficulty_ = d;
    guarded([&] { check_difficulty(); });
  }
  guarded([&] { check_growth(); });
  if (const auto top = e_.environment->saturates_at()) guarded([&] { check_saturation(*top); });
  return std::move(report_);
}

}  // namespace

PropertyReport check_properties(const NamedEnvironment& e, const EnvironmentCheck& c) {
  return PropertyChecker(e, c).run();
}

}  // namespace quern::gym
