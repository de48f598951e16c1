#include "quern/memory/time/holidays.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "quern/memory/time/moon_calendar.h"

namespace quern::memory {
namespace {

using enum HolidayRule;

constexpr HolidayEntry kHolidays[] = {
    {"new year day|new year|new yeard day|ny day|nyd", fixed, 1, 1},
    {"new year eve|nye|silvester|new year eve night", fixed, 12, 31},
    {"epiphany|epiphany day|three king|three king day|three wise men day", fixed, 1, 6},
    {"twelfth night", fixed, 1, 5},
    {"martin luther king day|martin luther king jr day|mlk day|mlk", nth, 1, 0, 3},
    {"burn night|burn supper", fixed, 1, 25},
    {"australia day", fixed, 1, 26},
    {"groundhog day", fixed, 2, 2},
    {"candlema|candlema day", fixed, 2, 2},
    {"valentine|valentine day|st valentine|st valentine day|saint valentine|saint valentine day|v day", fixed, 2, 14},
    {"president day|washington birthday", nth, 2, 0, 3},
    {"leap day", fixed, 2, 29},
    {"st david day|saint david day", fixed, 3, 1},
    {"women day|woman day|international women day|international woman day|world women day", fixed, 3, 8},
    {"arbor day in china|chinese arbor day", fixed, 3, 12},
    {"pi day", fixed, 3, 14},
    {"st patrick|st patrick day|saint patrick|saint patrick day|st paddy|st paddy day|paddy day|patrick day|st pat "
     "day",
     fixed, 3, 17},
    {"st joseph day|saint joseph day|spanish father day|italian father day", fixed, 3, 19},
    {"april fool|april fool day|all fool day", fixed, 4, 1},
    {"earth day", fixed, 4, 22},
    {"st george day|saint george day", fixed, 4, 23},
    {"anzac day", fixed, 4, 25},
    {"king day|koningsdag", fixed, 4, 27},
    {"walpurgi night", fixed, 4, 30},
    {"may day|may day bank holiday|international worker day|worker day|workerday", fixed, 5, 1},
    {"early may bank holiday", nth, 5, 0, 1},
    {"star war day", fixed, 5, 4},
    {"chinese youth day|youth day", fixed, 5, 4},
    {"cinco de mayo", fixed, 5, 5},
    {"ve day|victory in europe day|victory day", fixed, 5, 8},
    {"europe day", fixed, 5, 9},
    {"mexican mother day", fixed, 5, 10},
    {"st isidore day", fixed, 5, 15},
    {"mother day", nth, 5, 6, 2},
    {"mothering sunday|uk mother day|british mother day|english mother day", easter, -21},
    {"spanish mother day", nth, 5, 6, 1},
    {"french mother day", french_mother},
    {"french grandmother day|grandmother day", nth, 3, 6, 1},
    {"victoria day", last_before, 5, 25, 0},
    {"memorial day", nth, 5, 0, -1},
    {"spring bank holiday|late may bank holiday|whitsun bank holiday", nth, 5, 0, -1},
    {"internet valentine day", fixed, 5, 20},
    {"children day|international children day", fixed, 6, 1},
    {"juneteenth", fixed, 6, 19},
    {"father day", nth, 6, 6, 3},
    {"world music day|music day", fixed, 6, 21},
    {"midsummer eve|st john eve|saint john eve|st john night|midsummer night", fixed, 6, 23},
    {"midsummer|midsummer day|st john|st john day|saint john day", fixed, 6, 24},
    {"canada day", fixed, 7, 1},
    {"chinese party day", fixed, 7, 1},
    {"independence day|fourth of july|july fourth|july 4th|4th of july|us independence day", fixed, 7, 4},
    {"st fermin", fixed, 7, 7},
    {"bastille day|french national day|french national holiday|quatorze juillet", fixed, 7, 14},
    {"st jame day|saint jame day", fixed, 7, 25},
    {"swi national day", fixed, 8, 1},
    {"chinese army day|army day", fixed, 8, 1},
    {"assumption|assumption day|feast of the assumption|assumption of mary", fixed, 8, 15},
    {"summer bank holiday|august bank holiday|late summer bank holiday", nth, 8, 0, -1},
    {"labor day|labour day|us labor day", nth, 9, 0, 1},
    {"teacher day|chinese teacher day", fixed, 9, 10},
    {"mexican independence day", fixed, 9, 16},
    {"patriot day", fixed, 9, 11},
    {"michaelma", fixed, 9, 29},
    {"chinese national day|national day of china", fixed, 10, 1},
    {"unity day|german unity day|day of german unity|german national day", fixed, 10, 3},
    {"columbu day|indigenou people day|indigenou day|canadian thanksgiving", nth, 10, 0, 2},
    {"spanish national day|hispanic day|hispanidad|dia de la raza", fixed, 10, 12},
    {"austrian national day", fixed, 10, 26},
    {"halloween|hallow eve|all hallow eve|all hallow|hallowe'en|halloween night", fixed, 10, 31},
    {"reformation day", fixed, 10, 31},
    {"all saint|all saint day|all hallow day", fixed, 11, 1},
    {"all soul|all soul day|day of the dead|dia de muerto|dia de lo muerto", fixed, 11, 2},
    {"guy fawke|guy fawke night|guy fawke day|bonfire night|firework night", fixed, 11, 5},
    {"our lady of almudena", fixed, 11, 9},
    {"veteran day|armistice day|remembrance day|poppy day", fixed, 11, 11},
    {"st martin|st martin day|saint martin day|martinma", fixed, 11, 11},
    {"single day|double eleven", fixed, 11, 11},
    {"remembrance sunday", nth, 11, 6, 2},
    {"repentance day|day of repentance and prayer", last_before, 11, 23, 2},
    {"thanksgiving|thanksgiving day|turkey day", nth, 11, 3, 4},
    {"black friday", nth, 11, 3, 4, 1},
    {"small busine saturday", nth, 11, 3, 4, 2},
    {"cyber monday", nth, 11, 3, 4, 4},
    {"st andrew day|saint andrew day", fixed, 11, 30},
    {"national mourning day", advent, -1},
    {"sunday of the dead|totensonntag", advent, 0},
    {"first advent|first advent sunday|first sunday of advent|first sunday in advent|advent sunday|1st advent",
     advent, 1},
    {"second advent|second advent sunday|second sunday of advent|second sunday in advent|2nd advent", advent, 2},
    {"third advent|third advent sunday|third sunday of advent|third sunday in advent|3rd advent", advent, 3},
    {"fourth advent|fourth advent sunday|fourth sunday of advent|fourth sunday in advent|4th advent", advent, 4},
    {"st barbara day", fixed, 12, 4},
    {"st nichola|st nichola day|saint nichola|saint nichola day", fixed, 12, 6},
    {"spanish constitution day", fixed, 12, 6},
    {"immaculate conception|immaculate conception day|feast of the immaculate conception", fixed, 12, 8},
    {"our lady of guadalupe", fixed, 12, 12},
    {"double twelve", fixed, 12, 12},
    {"st lucia|st lucia day|st lucy day|saint lucy day", fixed, 12, 13},
    {"christma lottery day", fixed, 12, 22},
    {"christma eve|christma eve night|christma eve day", fixed, 12, 24},
    {"christma|christma day|xma|xma day|first christma day", fixed, 12, 25},
    {"xma eve", fixed, 12, 24},
    {"boxing day|st stephen|st stephen day|saint stephen day|second christma day|second day of christma", fixed, 12,
     26},
    {"holy innocent day", fixed, 12, 28},

    {"weiberfastnacht|women carnival day", easter, -52},
    {"carnival saturday", easter, -50},
    {"carnival sunday", easter, -49},
    {"rose monday|carnival monday|shrove monday", easter, -48},
    {"shrove tuesday|pancake day|pancake tuesday|mardi gra|fat tuesday|carnival tuesday", easter, -47},
    {"ash wednesday", easter, -46},
    {"palm sunday", easter, -7},
    {"holy monday", easter, -6},
    {"holy tuesday", easter, -5},
    {"holy wednesday|spy wednesday", easter, -4},
    {"maundy thursday|holy thursday", easter, -3},
    {"good friday", easter, -2},
    {"holy saturday|easter saturday|easter eve", easter, -1},
    {"easter|easter sunday|easter day", easter, 0},
    {"easter monday", easter, 1},
    {"divine mercy sunday|low sunday", easter, 7},
    {"ascension|ascension day|ascension thursday|german father day", easter, 39},
    {"whitsun|whit sunday|pentecost|pentecost sunday|whitsunday", easter, 49},
    {"whit monday|pentecost monday|whitmonday", easter, 50},
    {"trinity sunday", easter, 56},
    {"corpu christi|feast of corpu christi|corpu christi day", easter, 60},

    {"chinese new year eve|lunar new year eve|spring festival eve", moon, 1, 1, 0, -1},
    {"chinese new year|chinese new year day|lunar new year|lunar new year day|spring festival", moon, 1, 1},
    {"second day of spring festival", moon, 1, 2},
    {"third day of spring festival", moon, 1, 3},
    {"fifth day of spring festival", moon, 1, 5},
    {"lantern festival", moon, 1, 15},
    {"dragon boat festival|dragon boat day|double fifth", moon, 5, 5},
    {"qixi|qixi festival|chinese valentine day|double seventh", moon, 7, 7},
    {"ghost festival|hungry ghost festival", moon, 7, 15},
    {"mid autumn festival|mid autumn|moon festival|mooncake festival", moon, 8, 15},
    {"double ninth|double ninth festival|chongyang|chongyang festival", moon, 9, 9},
    {"laba festival|laba", moon, 12, 8},
    {"little new year", moon, 12, 23},
    {"qingming|qingming festival|tomb sweeping day|tomb sweeping festival", sun, 15},
    {"dongzhi|dongzhi festival|winter solstice", sun, 270},
    {"summer solstice", sun, 90},
};

Day nth_weekday(int y, int month, int weekday, int n) {
  if (n < 0) {
    const Day end = day_of(y, month, month_length(y, month));
    return end - (weekday_of(end) - weekday + 7) % 7;
  }
  const Day first = day_of(y, month, 1);
  return first + (weekday - weekday_of(first) + 7) % 7 + 7 * (n - 1);
}

struct NamedHoliday {
  std::vector<std::string> words;
  const HolidayEntry* entry;
};

}  // namespace

std::span<const HolidayEntry> holidays() { return kHolidays; }

std::optional<Day> holiday_day(const HolidayEntry& h, int y) {
  auto later = [&](std::optional<Day> d) { return d ? std::optional(*d + h.later) : d; };
  switch (h.rule) {
    case fixed:
      if (!date_exists(y, h.a, h.b)) return std::nullopt;
      return later(day_of(y, h.a, h.b));
    case nth:
      return later(nth_weekday(y, h.a, h.b, h.c));
    case last_before: {
      const Day end = day_of(y, h.a, h.b) - 1;
      return end - (weekday_of(end) - h.c + 7) % 7;
    }
    case HolidayRule::easter:
      return quern::memory::easter(y) + h.a;
    case advent: {
      const Day eve = day_of(y, 12, 24);
      return eve - (weekday_of(eve) + 1) % 7 + 7 * (h.a - 4);
    }
    case moon:
      return later(moon_day(y, h.a, h.b));
    case sun:
      return solar_term(h.a, y);
    case french_mother: {
      const Day last = nth_weekday(y, 5, 6, -1);
      return last == quern::memory::easter(y) + 49 ? last + 7 : last;
    }
  }
  return std::nullopt;
}

std::string holiday_word(std::string_view lower) {
  std::string out;
  for (size_t i = 0; i < lower.size(); ++i) {
    const bool typeset = lower.substr(i).starts_with("\xE2\x80\x99");
    if (typeset) i += 2;
    if (lower[i] == '.') continue;
    const bool mark = typeset || lower[i] == '\'';
    if (mark && lower.substr(i + 1) == "s") break;
    if (!mark) out += lower[i];
  }
  while (out.size() > 2 && out.back() == 's') out.pop_back();
  return out;
}

HolidayFound find_holiday(std::span<const std::string> words) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string, std::vector<NamedHoliday>>();
    for (const HolidayEntry& h : kHolidays)
      for (size_t at = 0; at < h.names.size();) {
        const size_t end = std::min(h.names.find('|', at), h.names.size());
        NamedHoliday n{{}, &h};
        for (size_t k = at; k < end;) {
          const size_t space = std::min({h.names.find(' ', k), end});
          n.words.emplace_back(h.names.substr(k, space - k));
          k = space + 1;
        }
        at = end + 1;
        (*t)[n.words[0]].push_back(std::move(n));
      }
    for (auto& [first, list] : *t)
      std::stable_sort(list.begin(), list.end(),
                       [](const NamedHoliday& a, const NamedHoliday& b) { return a.words.size() > b.words.size(); });
    return t;
  }();
  if (words.empty()) return {};
  const auto at = table->find(words[0]);
  if (at == table->end()) return {};
  for (const NamedHoliday& n : at->second)
    if (n.words.size() <= words.size() && std::equal(n.words.begin(), n.words.end(), words.begin()))
      return {n.entry, n.words.size()};
  return {};
}

}  // namespace quern::memory
