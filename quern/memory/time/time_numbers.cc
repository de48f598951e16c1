// Numbers in words and digits, and token kinds.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

bool TimeParser::sentence_end(size_t i) const {
  return i >= n_ || t_[i].starts || t_[i].before == ',' || t_[i].before == '?' || t_[i].before == ':' ||
         t_[i].before == ';' || t_[i].before == ')';
}

bool TimeParser::preposition(size_t i) const {
  if (i >= n_) return false;
  switch (t_[i].word) {
    case Word::in:
    case Word::on:
    case Word::at:
    case Word::over:
    case Word::around:
    case Word::by:
    case Word::of:
    case Word::from:
    case Word::to:
    case Word::through:
    case Word::between:
    case Word::since:
    case Word::until:
    case Word::before:
    case Word::after:
    case Word::last:
    case Word::past:
    case Word::previous:
    case Word::this_:
    case Word::next:
    case Word::early:
    case Word::mid:
    case Word::late:
    case Word::starting:
    case Word::begin:
      return true;
    default:
      return false;
  }
}

size_t TimeParser::number(size_t i, int64_t& v) const {
  ++tries_;
  if (!is(i, Lex::number)) return 0;
  const Token& t = t_[i];
  v = t.value;
  if (t.digits) return i + 1;
  size_t j = i + 1;
  if (v >= 20 && v < 100 && is(j, Lex::number) && !t_[j].digits && t_[j].value >= 1 && t_[j].value <= 9 && joined(j))
    v += t_[j++].value;
  const bool hundred = t.word == Word::hundred;
  if (hundred || (v >= 1 && v < 100 && is(j, Word::hundred))) {
    if (!hundred) v *= 100, ++j;
    size_t k = skip(j, Word::and_);
    if (is(k, Lex::number) && !t_[k].digits && t_[k].value < 100) {
      v += t_[k].value, j = k + 1;
      if (t_[k].value >= 20 && is(j, Lex::number) && !t_[j].digits && t_[j].value >= 1 && t_[j].value <= 9)
        v += t_[j++].value;
    }
  }
  return j;
}

size_t TimeParser::count(size_t i, int64_t& v) const {
  if (const size_t j = number(i, v)) return j;
  size_t j = i;
  const bool article = is(i, Word::a);
  if (article) ++j;
  if (is(j, Word::couple)) {
    v = 2;
    return skip(j + 1, Word::of);
  }
  if (is(j, Word::few)) {
    v = 3;
    return skip(j + 1, Word::of);
  }
  if (is(j, Word::several)) {
    v = 4;
    return j + 1;
  }
  if (is(j, Word::half) && is(is(j + 1, Word::a) ? j + 2 : j + 1, Word::dozen)) {
    v = 6;
    return is(j + 1, Word::a) ? j + 3 : j + 2;
  }
  if (is(j, Word::dozen)) {
    v = 12;
    return j + 1;
  }
  if (article && is(j, Lex::number) && t_[j].word == Word::hundred) return number(j, v);
  if (!article) return 0;
  v = 1;
  return j;
}

size_t TimeParser::ordinal(size_t i, int64_t& v) const {
  ++tries_;
  if (i >= n_) return 0;
  if (t_[i].lex == Lex::ordinal) {
    v = t_[i].value;
    return i + 1;
  }
  // twenty-first, hundred and twelfth
  if (t_[i].lex != Lex::number || t_[i].digits || t_[i].value < 20) return 0;
  v = t_[i].value;
  size_t j = i + 1;
  if (v == 100) j = skip(j, Word::and_);
  if (!is(j, Lex::ordinal) || t_[j].digits || !joined(j) || (v < 100 && t_[j].value > 9)) return 0;
  v += t_[j].value;
  return j + 1;
}

bool TimeParser::month_here(size_t i) const {
  if (!is(i, Lex::month)) return false;
  const Token& t = t_[i];
  if (!t.weak) return true;
  int64_t v;
  const bool number_next = ordinal(i + 1, v) || (is(i + 1, Lex::number) && t_[i + 1].digits);
  if (number_next || (is(i + 1, Word::the) && ordinal(i + 2, v))) return true;
  if (i > 0 && (preposition(i - 1) || ordinal(i - 1, v) || is(i - 1, Lex::ordinal) ||
                (is(i - 1, Lex::number) && t_[i - 1].digits)))
    return true;
  if (i > 0 && (is(i - 1, Word::and_) || is(i - 1, Word::or_)) && t.capital) return true;
  return t.capital && !t.starts && i > 0 && w_.spelling(i) != "mar" && w_.spelling(i) != "sep";
}

bool TimeParser::weekday_here(size_t i) const {
  if (!is(i, Lex::weekday)) return false;
  if (!t_[i].weak) return true;
  auto joined_to_day = [&](size_t k, size_t other) {
    return (is(k, Word::and_) || is(k, Word::or_) || is(k, Word::to)) && is(other, Lex::weekday);
  };
  if ((is(i + 1, Lex::weekday) && t_[i + 1].before != ' ') ||
      (i > 0 && is(i - 1, Lex::weekday) && t_[i].before != ' '))
    return true;  // mon-wed, tue/wed
  if (joined_to_day(i + 1, i + 2) || (i > 1 && joined_to_day(i - 1, i - 2))) return true;
  return i > 0 && (preposition(i - 1) || is(i - 1, Lex::ordinal));
}

}  // namespace quern::memory
