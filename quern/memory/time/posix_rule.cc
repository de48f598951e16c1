#include "quern/memory/time/posix_rule.h"

#include <cctype>
#include <chrono>

namespace quern::memory {
namespace {

bool take(std::string_view& s, char c) {
  if (s.empty() || s[0] != c) return false;
  s.remove_prefix(1);
  return true;
}

std::optional<int> take_number(std::string_view& s, int at_most) {
  size_t n = 0;
  int v = 0;
  while (n < s.size() && n < 4 && s[n] >= '0' && s[n] <= '9') v = v * 10 + (s[n++] - '0');
  if (n == 0 || v > at_most) return std::nullopt;
  s.remove_prefix(n);
  return v;
}

bool take_name(std::string_view& s) {
  size_t n = 0;
  if (take(s, '<')) {
    n = s.find('>');
    if (n == s.npos) return false;
    s.remove_prefix(n + 1);
    return n >= 3;
  }
  while (n < s.size() && std::isalpha(static_cast<unsigned char>(s[n]))) ++n;
  s.remove_prefix(n);
  return n >= 3;
}

std::optional<int32_t> take_clock(std::string_view& s) {  // [+-]hh[:mm[:ss]]
  const bool minus = !s.empty() && s[0] == '-';
  if (!take(s, '-')) take(s, '+');
  const auto h = take_number(s, 167);
  if (!h) return std::nullopt;
  int32_t v = *h * 3600;
  if (take(s, ':')) {
    const auto m = take_number(s, 59);
    if (!m) return std::nullopt;
    v += *m * 60;
    if (take(s, ':')) {
      const auto sec = take_number(s, 59);
      if (!sec) return std::nullopt;
      v += *sec;
    }
  }
  return minus ? -v : v;
}

}  // namespace

bool PosixRule::parse_change(std::string_view& s, Change& c) {
  if (!take(s, ',')) return false;
  if (take(s, 'M')) {
    const auto m = take_number(s, 12);
    if (!m || *m < 1 || !take(s, '.')) return false;
    const auto w = take_number(s, 5);
    if (!w || *w < 1 || !take(s, '.')) return false;
    const auto d = take_number(s, 6);
    if (!d) return false;
    c.kind = Change::Kind::month_week, c.month = *m, c.week = *w, c.day = *d;
  } else {
    const bool julian = take(s, 'J');
    const auto d = take_number(s, 365);
    if (!d || (julian && *d < 1)) return false;
    c.kind = julian ? Change::Kind::julian : Change::Kind::day, c.day = *d;
  }
  if (!take(s, '/')) return true;
  const auto t = take_clock(s);
  if (t) c.second = *t;
  return t.has_value();
}

std::optional<PosixRule> PosixRule::parse(std::string_view s) {
  PosixRule r;
  if (!take_name(s)) return std::nullopt;
  const auto west = take_clock(s);  // POSIX counts westwards
  if (!west) return std::nullopt;
  r.standard_ = r.summer_ = -*west;
  if (s.empty()) return r;
  if (!take_name(s)) return std::nullopt;
  r.has_summer_ = true, r.summer_ = r.standard_ + 3600;
  if (!s.empty() && s[0] != ',') {
    const auto summer = take_clock(s);
    if (!summer) return std::nullopt;
    r.summer_ = -*summer;
  }
  if (!parse_change(s, r.begin_) || !parse_change(s, r.end_) || !s.empty()) return std::nullopt;
  return r;
}

LocalSeconds PosixRule::change_in(const Change& c, int year) {
  namespace chr = std::chrono;
  const chr::year y(year);
  chr::sys_days d;
  if (c.kind == Change::Kind::month_week) {
    const auto month = y / chr::month(static_cast<unsigned>(c.month));
    const chr::weekday weekday(static_cast<unsigned>(c.day));  // 0 is Sunday for both
    d = c.week == 5 ? chr::sys_days(month / weekday[chr::last])
                    : chr::sys_days(month / weekday[static_cast<unsigned>(c.week)]);
  } else {
    d = chr::sys_days(y / 1 / 1) + chr::days(c.day);
    if (c.kind == Change::Kind::julian && !(y.is_leap() && c.day >= 60)) d -= chr::days(1);  // no 29 February
  }
  return d.time_since_epoch().count() * kDaySeconds + c.second;
}

int32_t PosixRule::offset_at(int64_t utc) const {
  if (!has_summer_) return standard_;
  const int year = civil(day_part(utc + standard_)).year;
  const int64_t begin = change_in(begin_, year) - standard_, end = change_in(end_, year) - summer_;
  const bool summer = begin < end ? utc >= begin && utc < end : utc >= begin || utc < end;
  return summer ? summer_ : standard_;
}

}  // namespace quern::memory
