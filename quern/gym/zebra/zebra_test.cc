// The clues are read out of the question. A search over all houses for all things finds every solution: there is one.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

struct Clue {
  std::string x, by;  // house of x - house of by = apart; without `by`, the house itself
  int apart = 0;
};

class Houses {
 public:
  explicit Houses(const std::string& question) {
    static const std::regex list("(person|color|pet|drink) \\(([^)]*)\\)"), count("There are (\\d+) houses"),
        asked("Write the (\\w+) of each");
    std::smatch m;
    if (std::regex_search(question, m, count)) n_ = std::stoi(m[1]);
    if (std::regex_search(question, m, asked)) asked_ = m[1];
    for (std::sregex_iterator i(question.begin(), question.end(), list), end; i != end; ++i)
      for (const std::string& name : plain_answer_words((*i)[2])) sort_[name] = (*i)[1], things_.push_back(name);
    read_clues(question.substr(question.rfind("). ") + 3));
  }

  std::vector<std::string> only_solution() {
    search(0);
    return found_.size() == 1 ? found_[0] : std::vector<std::string>{};
  }

 private:
  void read_clues(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    static const std::regex in("(\\w+) belongs to house (\\d+)\\."), same("(\\w+) and (\\w+) belong to the same"),
        next("(\\w+) belongs to the house (?:just|(\\d+) places) to the (left|right) of (\\w+)\\.");
    const std::sregex_iterator end;
    for (std::sregex_iterator i(text.begin(), text.end(), in); i != end; ++i)
      clues_.push_back({(*i)[1], "", std::stoi((*i)[2])});
    for (std::sregex_iterator i(text.begin(), text.end(), same); i != end; ++i)
      clues_.push_back({(*i)[1], (*i)[2], 0});
    for (std::sregex_iterator i(text.begin(), text.end(), next); i != end; ++i) {
      const int apart = (*i)[2].matched ? std::stoi((*i)[2]) : 1;
      clues_.push_back({(*i)[1], (*i)[4], (*i)[3] == "left" ? -apart : apart});
    }
  }

  bool agrees() const {  // with every clue of which all things have a house, and one thing of a sort to a house
    for (const Clue& c : clues_) {
      const auto x = house_.find(c.x), by = house_.find(c.by);
      if (x == house_.end() || (!c.by.empty() && by == house_.end())) continue;
      if (x->second - (c.by.empty() ? 0 : by->second) != c.apart) return false;
    }
    std::map<std::pair<std::string, int>, int> used;
    for (const auto& [name, house] : house_)
      if (++used[{sort_.at(name), house}] > 1) return false;
    return true;
  }

  // Next, a thing that a clue ties to one with a house, if there is any.
  std::string next_thing() const {
    for (const Clue& c : clues_) {
      if (!house_.contains(c.x) && (c.by.empty() || house_.contains(c.by))) return c.x;
      if (!c.by.empty() && !house_.contains(c.by) && house_.contains(c.x)) return c.by;
    }
    return *std::ranges::find_if(things_, [&](const std::string& s) { return !house_.contains(s); });
  }

  void search(size_t depth) {
    if (found_.size() > 1) return;
    if (depth == things_.size()) {
      std::vector<std::string> row(static_cast<size_t>(n_));
      for (const auto& [name, house] : house_)
        if (sort_[name] == asked_) row[static_cast<size_t>(house - 1)] = name;
      found_.push_back(row);
      return;
    }
    const std::string thing = next_thing();
    for (int house = 1; house <= n_; ++house) {
      house_[thing] = house;
      if (agrees()) search(depth + 1);
      house_.erase(thing);
    }
  }

  int n_ = 0;
  std::string asked_;
  std::vector<std::string> things_;
  std::map<std::string, std::string> sort_;
  std::vector<Clue> clues_;
  std::map<std::string, int> house_;
  std::vector<std::vector<std::string>> found_;
};

TEST(Zebra, HasOneSolution) {
  std::string question;
  std::vector<std::string> found;
  const auto right = [&](const Problem& p, const std::string& given) {
    if (p.question != question) question = p.question, found = Houses(question).only_solution();
    return !found.empty() && plain_answer_words(given) == found;
  };
  check_verifier("zebra", right, {.seeds = 200, .difficulties = {0, 1, 2, 3, 4, 5, 8, 12}});
}
TEST(Zebra, HasTheProperties) { check_environment("zebra"); }

}  // namespace
}  // namespace quern::gym
