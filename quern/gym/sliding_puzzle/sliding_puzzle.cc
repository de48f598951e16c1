// Environment `sliding_puzzle`: moves that bring the tiles of a 3 x 3 board, from difficulty 10 on 4 x 4, into order after
// d + 4 random moves. Every list of moves that does is accepted.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

struct TileBoard {
  int64_t side;
  std::vector<int64_t> tiles;  // 0: the empty place

  static TileBoard in_order(int64_t side) {
    TileBoard b{side, {}};
    for (int64_t i = 1; i < side * side; ++i) b.tiles.push_back(i);
    b.tiles.push_back(0);
    return b;
  }
  // Slides a tile into the empty place; false: it is not next to it.
  bool slide(int64_t tile) {
    const auto at = std::ranges::find(tiles, tile), empty = std::ranges::find(tiles, int64_t{0});
    if (at == tiles.end()) return false;
    const int64_t i = at - tiles.begin(), j = empty - tiles.begin();
    if (std::abs(i / side - j / side) + std::abs(i % side - j % side) != 1) return false;
    std::swap(*at, *empty);
    return true;
  }
  bool is_in_order() const { return tiles == in_order(side).tiles; }
  std::string text() const {
    std::string s;
    for (size_t i = 0; i < tiles.size(); ++i) {
      s += i == 0 ? "" : i % static_cast<size_t>(side) == 0 ? " / " : " ";
      s += tiles[i] == 0 ? "_" : std::to_string(tiles[i]);
    }
    return s;
  }
};

class SlidingPuzzle : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    TileBoard b = TileBoard::in_order(difficulty < 10 ? 3 : 4);
    std::vector<int64_t> moves;  // from the order to the puzzle
    std::vector<std::string> boards;
    while (static_cast<int64_t>(moves.size()) < difficulty + 4 || b.is_in_order()) {
      const int64_t tile = between(r, 1, b.side * b.side - 1);
      if (!moves.empty() && moves.back() == tile) continue;  // would undo the last
      std::string before = b.text();
      if (!b.slide(tile)) continue;
      moves.push_back(tile), boards.push_back(std::move(before));
    }
    Problem p{.key = b.text()};
    p.question = fmt::format(
        "Slide the tiles of this board until it reads {}. A move slides a tile next to the empty place, marked _, "
        "into it. Rows are separated by a slash. Write the numbers of the tiles to slide, in order: {}",
        TileBoard::in_order(b.side).text(), p.key);
    p.facts.set("side", b.side), p.facts.set("tiles", json_array(b.tiles));
    std::ranges::reverse(moves), std::ranges::reverse(boards);
    p.answer = fmt::format("{}", fmt::join(moves, ", "));
    for (size_t i = 0; i < moves.size(); ++i)
      p.steps += fmt::format("{}Slide {}: {}.", i ? " " : "", moves[i], boards[i]);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto moves = answer_numbers(final_answer(reply));
    if (!moves) return {0, "the answer is not a list of tiles"};
    TileBoard b{p.facts.at("side").as_int(), json_numbers(p.facts.at("tiles"))};
    for (int64_t tile : *moves)
      if (tile < 1 || !b.slide(tile)) return {0, fmt::format("tile {} cannot slide", tile)};
    if (!b.is_in_order()) return {0, "the board is not in order after the moves"};
    return {1, "the board is in order"};
  }
};

}  // namespace

void register_sliding_puzzle(EnvironmentRegistry& r) {
  r.add("sliding_puzzle", "moves that bring the tiles of a sliding puzzle into order",
        std::make_unique<SlidingPuzzle>(), "games");
}

}  // namespace quern::gym
