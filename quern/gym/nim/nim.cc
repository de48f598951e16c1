// Environment `nim`: a winning move in d / 2 + 2 heaps of stones, or that there is none. Every winning move is accepted:
// one after which the exclusive or of the heaps is 0.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

int64_t nim_sum(const std::vector<int64_t>& heaps) {
  int64_t sum = 0;
  for (int64_t h : heaps) sum ^= h;
  return sum;
}

class Nim : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    std::vector<int64_t> heaps;
    for (int64_t i = 0; i < difficulty / 2 + 2; ++i) heaps.push_back(between(r, 1, 7 + 2 * difficulty));
    if (const int64_t rest = nim_sum(heaps) ^ heaps[0]; rest > 0 && r.below(4) == 0)
      heaps[0] = rest;  // no winning move
    const int64_t sum = nim_sum(heaps);
    Problem p{.answer = "none", .key = fmt::format("{}", fmt::join(heaps, ", "))};
    p.question = fmt::format(
        "Two players take stones in turn. A move takes one or more stones from one heap, and the player who takes "
        "the last stone of all wins. Heaps 1 to {} hold {} stones. It is your turn. Write a move after which you "
        "can win for certain, as the number of the heap and then how many stones to take, or write none if there is "
        "no such move.",
        heaps.size(), p.key);
    int64_t so_far = 0;
    p.steps = "The exclusive or of the heaps:";
    for (int64_t h : heaps) p.steps += fmt::format(" {},", so_far ^= h);
    if (sum == 0) {
      p.steps += " so it is 0: the other player can answer every move.";
    } else {
      const size_t at =
          static_cast<size_t>(std::ranges::find_if(heaps, [&](int64_t h) { return (h ^ sum) < h; }) - heaps.begin());
      p.steps +=
          fmt::format(" so it is {}. Heap {} of {} shrinks to {}, which makes it 0: {} - {} = {}.", sum, at + 1,
                      heaps[at], heaps[at] ^ sum, heaps[at], heaps[at] ^ sum, heaps[at] - (heaps[at] ^ sum));
      p.answer = fmt::format("{}, {}", at + 1, heaps[at] - (heaps[at] ^ sum));
    }
    p.facts.set("heaps", json_array(heaps));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::string given = final_answer(reply);
    std::vector<int64_t> heaps = json_numbers(p.facts.at("heaps"));
    if (given == "none")
      return nim_sum(heaps) == 0 ? Verdict{1, "there is no winning move"} : Verdict{0, "there is a winning move"};
    const auto move = answer_numbers(given);
    if (!move || move->size() != 2) return {0, "the answer is not a heap and a number of stones"};
    const int64_t heap = (*move)[0], stones = (*move)[1];
    if (heap < 1 || heap > static_cast<int64_t>(heaps.size())) return {0, fmt::format("there is no heap {}", heap)};
    int64_t& left = heaps[static_cast<size_t>(heap - 1)];
    if (stones < 1 || stones > left) return {0, fmt::format("{} stones cannot be taken from {}", stones, left)};
    left -= stones;
    if (nim_sum(heaps) != 0) return {0, "the other player can win after this move"};
    return {1, "a winning move"};
  }
};

}  // namespace

void register_nim(EnvironmentRegistry& r) {
  r.add("nim", "a winning move in heaps of stones", std::make_unique<Nim>(), "games");
}

}  // namespace quern::gym
