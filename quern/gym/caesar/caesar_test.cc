// The word is encoded and decoded again with a table of the alphabet written twice.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool is_the_word(const Problem& p, const std::string& given) {
  static const std::regex decoding("letter (\\d+) places? later .* result is ([a-z]+)\\.");
  static const std::regex encoding("the word ([a-z]+) by .* letter (\\d+) places? later");
  const std::string twice = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
  std::smatch m;
  std::string word;
  size_t shift = 0;
  if (std::regex_search(p.question, m, decoding)) {
    word = m[2], shift = 26 - std::stoul(m[1]);
  } else if (std::regex_search(p.question, m, encoding)) {
    word = m[1], shift = std::stoul(m[2]);
  }
  for (char& c : word) c = twice[twice.find(c) + shift];
  return !word.empty() && given == word;
}

TEST(Caesar, IsRight) { check_verifier("caesar", is_the_word); }
TEST(Caesar, HasTheProperties) { check_environment("caesar"); }

}  // namespace
}  // namespace quern::gym
