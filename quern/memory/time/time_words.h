// Tokens of questions about time, and their possible meanings. One pass, no backtracking; every byte belongs to at
// most one token. Unknown words of six letters or more within one edit (a letter left out, added, changed, or two
// swapped) of a calendar name are read as that name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

enum class Lex : uint8_t {
  other,
  number,
  ordinal,
  month,
  weekday,
  unit,
  session,
  response,
  part,
  day_word,
  season,
  holiday,
  date,
  clock,
  year,
  quarter
};

enum class Unit : uint8_t { second, minute, hour, day, week, weekend, month, quarter, year, decade };
// late: evening and night, which some languages do not part (noche, 晚上); small_hours: those behind midnight
enum class DayPart : uint8_t { morning, afternoon, evening, night, late, small_hours };
// Holidays that one word names: the value of their token.
constexpr std::string_view kHolidayNames[] = {"easter", "halloween", "thanksgiving", "christmas", "valentine"};

// Small words, by what they do. Words of one line mean the same to the grammar.
enum class Word : uint8_t {
  none,
  last,
  past,
  previous,
  recent,
  most,
  penultimate,
  this_,
  that,
  next,
  current,
  upcoming,
  ago,
  back,
  earlier,
  later,
  before,
  after,
  since,
  until,
  to,
  through,
  between,
  and_,
  or_,
  from,
  of,
  onward,
  the,
  in,
  on,
  at,
  over,
  around,
  by,
  up,
  as,
  a,
  couple,
  few,
  several,
  dozen,
  hundred,
  half,
  early,
  mid,
  late,
  begin,
  starting,
  end,
  first_half,
  not_,
  but,
  number,
  very,
  ever,
  every,
  exactly,
  one,
  so,
  far,
  first,
  we,
  our,
  talk,
  mention,
  now,
  noon,
  midnight,
  am,
  pm,
  day,
  night,
  year,
  week
};

struct Token {
  uint32_t begin = 0, end = 0;  // bytes of the text
  Lex lex = Lex::other;
  Word word = Word::none;
  bool weak = false;  // also an everyday word ("may", "sat", "second"): counts only beside a preposition or a number
  bool plural = false;
  bool capital = false;
  bool starts = false;  // a sentence
  bool digits = false;
  bool mended = false;  // a slip was read as a name
  char before = 0;      // what stands between it and the token in front: punctuation, else ' '; 0 at the start
  int32_t value = 0;  // number; month 1…12; weekday 0…6; seconds of the day; Unit, Part, holiday, season 0…3 (spring)
  int16_t year = 0, month = 0, day = 0;  // of a date written in digits
};

struct DateOrder {
  bool month_first = true;  // of 5/8: May 8
};
struct TimeWords {
  std::string lower;  // the text with ASCII capitals lowered, byte for byte
  std::vector<Token> tokens;
  std::string_view spelling(size_t i) const {
    return std::string_view(lower).substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  }
};
TimeWords time_words(std::string_view text, DateOrder order = {});

}  // namespace quern::memory
