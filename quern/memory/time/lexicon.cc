#include "quern/memory/time/lexicon.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace quern::memory {
namespace {

constexpr int32_t u(Unit x) { return static_cast<int32_t>(x); }
constexpr int32_t p(DayPart x) { return static_cast<int32_t>(x); }

// clang-format off
constexpr LexiconEntry kWords[] = {
    {"zero", Lex::number, 0}, {"one", Lex::number, 1, Word::one}, {"two", Lex::number, 2}, {"three", Lex::number, 3},
    {"four", Lex::number, 4}, {"five", Lex::number, 5}, {"six", Lex::number, 6}, {"seven", Lex::number, 7},
    {"eight", Lex::number, 8}, {"nine", Lex::number, 9}, {"ten", Lex::number, 10}, {"eleven", Lex::number, 11},
    {"twelve", Lex::number, 12}, {"thirteen", Lex::number, 13}, {"fourteen", Lex::number, 14},
    {"fifteen", Lex::number, 15}, {"sixteen", Lex::number, 16}, {"seventeen", Lex::number, 17},
    {"eighteen", Lex::number, 18}, {"nineteen", Lex::number, 19}, {"twenty", Lex::number, 20},
    {"thirty", Lex::number, 30}, {"forty", Lex::number, 40}, {"fourty", Lex::number, 40}, {"fifty", Lex::number, 50},
    {"sixty", Lex::number, 60}, {"seventy", Lex::number, 70}, {"eighty", Lex::number, 80},
    {"ninety", Lex::number, 90}, {"hundred", Lex::number, 100, Word::hundred},
    {"first", Lex::ordinal, 1, Word::first}, {"initial", Lex::ordinal, 1, Word::first},
    {"opening", Lex::ordinal, 1, Word::first}, {"inaugural", Lex::ordinal, 1, Word::first},
    {"earliest", Lex::ordinal, 1, Word::first},
    {"second", Lex::ordinal, 2}, {"third", Lex::ordinal, 3},
    {"fourth", Lex::ordinal, 4}, {"fifth", Lex::ordinal, 5}, {"sixth", Lex::ordinal, 6}, {"seventh", Lex::ordinal, 7},
    {"eighth", Lex::ordinal, 8}, {"eigth", Lex::ordinal, 8}, {"ninth", Lex::ordinal, 9}, {"tenth", Lex::ordinal, 10},
    {"eleventh", Lex::ordinal, 11}, {"twelfth", Lex::ordinal, 12}, {"twelveth", Lex::ordinal, 12},
    {"thirteenth", Lex::ordinal, 13}, {"fourteenth", Lex::ordinal, 14}, {"fifteenth", Lex::ordinal, 15},
    {"sixteenth", Lex::ordinal, 16}, {"seventeenth", Lex::ordinal, 17}, {"eighteenth", Lex::ordinal, 18},
    {"nineteenth", Lex::ordinal, 19}, {"twentieth", Lex::ordinal, 20}, {"thirtieth", Lex::ordinal, 30},
    {"fortieth", Lex::ordinal, 40}, {"fiftieth", Lex::ordinal, 50}, {"sixtieth", Lex::ordinal, 60},
    {"seventieth", Lex::ordinal, 70}, {"eightieth", Lex::ordinal, 80}, {"ninetieth", Lex::ordinal, 90},
    {"hundredth", Lex::ordinal, 100, Word::hundred},

    {"january", Lex::month, 1}, {"february", Lex::month, 2}, {"march", Lex::month, 3, Word::none, true},
    {"april", Lex::month, 4}, {"may", Lex::month, 5, Word::none, true}, {"june", Lex::month, 6},
    {"july", Lex::month, 7}, {"august", Lex::month, 8}, {"september", Lex::month, 9}, {"october", Lex::month, 10},
    {"november", Lex::month, 11}, {"december", Lex::month, 12}, {"jan", Lex::month, 1, Word::none, true},
    {"feb", Lex::month, 2, Word::none, true}, {"mar", Lex::month, 3, Word::none, true},
    {"apr", Lex::month, 4, Word::none, true}, {"jun", Lex::month, 6, Word::none, true},
    {"jul", Lex::month, 7, Word::none, true}, {"aug", Lex::month, 8, Word::none, true},
    {"sep", Lex::month, 9, Word::none, true}, {"sept", Lex::month, 9, Word::none, true},
    {"oct", Lex::month, 10, Word::none, true}, {"nov", Lex::month, 11, Word::none, true},
    {"dec", Lex::month, 12, Word::none, true},

    {"monday", Lex::weekday, 0}, {"tuesday", Lex::weekday, 1}, {"wednesday", Lex::weekday, 2},
    {"wensday", Lex::weekday, 2}, {"thursday", Lex::weekday, 3}, {"friday", Lex::weekday, 4},
    {"saturday", Lex::weekday, 5}, {"sunday", Lex::weekday, 6}, {"mon", Lex::weekday, 0, Word::none, true},
    {"tue", Lex::weekday, 1}, {"tues", Lex::weekday, 1},
    {"wed", Lex::weekday, 2, Word::none, true}, {"weds", Lex::weekday, 2},
    {"thu", Lex::weekday, 3}, {"thur", Lex::weekday, 3},
    {"thurs", Lex::weekday, 3}, {"fri", Lex::weekday, 4},
    {"sat", Lex::weekday, 5, Word::none, true}, {"sun", Lex::weekday, 6, Word::none, true},
    {"mondays", Lex::weekday, 0, Word::none, false, true}, {"tuesdays", Lex::weekday, 1, Word::none, false, true},
    {"wednesdays", Lex::weekday, 2, Word::none, false, true}, {"thursdays", Lex::weekday, 3, Word::none, false, true},
    {"fridays", Lex::weekday, 4, Word::none, false, true}, {"saturdays", Lex::weekday, 5, Word::none, false, true},
    {"sundays", Lex::weekday, 6, Word::none, false, true},

    {"minute", Lex::unit, u(Unit::minute)}, {"minutes", Lex::unit, u(Unit::minute), Word::none, false, true},
    {"min", Lex::unit, u(Unit::minute)}, {"mins", Lex::unit, u(Unit::minute), Word::none, false, true},
    {"seconds", Lex::unit, u(Unit::second), Word::none, false, true},
    {"hour", Lex::unit, u(Unit::hour)}, {"hours", Lex::unit, u(Unit::hour), Word::none, false, true},
    {"hrs", Lex::unit, u(Unit::hour), Word::none, false, true}, {"hr", Lex::unit, u(Unit::hour)},
    {"day", Lex::unit, u(Unit::day), Word::day}, {"days", Lex::unit, u(Unit::day), Word::day, false, true},
    {"week", Lex::unit, u(Unit::week), Word::week}, {"weeks", Lex::unit, u(Unit::week), Word::week, false, true},
    {"wk", Lex::unit, u(Unit::week), Word::week}, {"fortnight", Lex::unit, -2, Word::none},
    {"fortnights", Lex::unit, -2, Word::none, false, true},
    {"weekend", Lex::unit, u(Unit::weekend)}, {"weekends", Lex::unit, u(Unit::weekend), Word::none, false, true},
    {"month", Lex::unit, u(Unit::month)}, {"months", Lex::unit, u(Unit::month), Word::none, false, true},
    {"quarter", Lex::unit, u(Unit::quarter)}, {"quarters", Lex::unit, u(Unit::quarter), Word::none, false, true},
    {"year", Lex::unit, u(Unit::year), Word::year}, {"years", Lex::unit, u(Unit::year), Word::year, false, true},
    {"wks", Lex::unit, u(Unit::week), Word::week, false, true},
    {"latter", Lex::ordinal, 2},
    {"numbers", Lex::other, 0, Word::number},
    {"commencing", Lex::other, 0, Word::starting},
    {"yr", Lex::unit, u(Unit::year), Word::year}, {"yrs", Lex::unit, u(Unit::year), Word::year, false, true},
    {"decade", Lex::unit, u(Unit::decade)},

    {"session", Lex::session, 0}, {"sessions", Lex::session, 0, Word::none, false, true},
    {"conversation", Lex::session, 0}, {"conversations", Lex::session, 0, Word::none, false, true},
    {"convo", Lex::session, 0}, {"convos", Lex::session, 0, Word::none, false, true}, {"conv", Lex::session, 0},
    {"discussion", Lex::session, 0}, {"discussions", Lex::session, 0, Word::none, false, true},
    {"dialogue", Lex::session, 0}, {"dialogues", Lex::session, 0, Word::none, false, true},
    {"dialog", Lex::session, 0}, {"meeting", Lex::session, 0}, {"meetings", Lex::session, 0, Word::none, false, true},
    {"exchange", Lex::session, 0}, {"exchanges", Lex::session, 0, Word::none, false, true},
    {"meetup", Lex::session, 0}, {"encounter", Lex::session, 0},
    {"chat", Lex::session, 0, Word::talk, true}, {"chats", Lex::session, 0, Word::none, false, true},
    {"talk", Lex::session, 0, Word::talk, true}, {"talks", Lex::session, 0, Word::none, false, true},
    {"call", Lex::session, 0, Word::talk, true}, {"calls", Lex::session, 0, Word::none, true, true},
    {"time", Lex::session, 1}, {"times", Lex::session, 1, Word::none, false, true},
    {"talked", Lex::other, 0, Word::talk}, {"talking", Lex::other, 0, Word::talk},
    {"chatted", Lex::other, 0, Word::talk}, {"chatting", Lex::other, 0, Word::talk},
    {"spoke", Lex::other, 0, Word::talk}, {"speak", Lex::other, 0, Word::talk},
    {"spoken", Lex::other, 0, Word::talk}, {"speaking", Lex::other, 0, Word::talk},
    {"met", Lex::other, 0, Word::talk}, {"meet", Lex::other, 0, Word::talk},
    {"conversed", Lex::other, 0, Word::talk}, {"converse", Lex::other, 0, Word::talk},
    {"discussed", Lex::other, 0, Word::talk}, {"discuss", Lex::other, 0, Word::talk},
    {"communicated", Lex::other, 0, Word::talk}, {"connected", Lex::other, 0, Word::talk},
    {"caught", Lex::other, 0, Word::talk}, {"corresponded", Lex::other, 0, Word::talk},
    {"mentioned", Lex::other, 0, Word::mention}, {"mentions", Lex::other, 0, Word::mention},
    {"mention", Lex::other, 0, Word::mention}, {"according", Lex::other, 0, Word::mention},
    {"stated", Lex::other, 0, Word::mention}, {"said", Lex::other, 0, Word::mention},
    {"say", Lex::other, 0, Word::mention}, {"told", Lex::other, 0, Word::mention},
    {"per", Lex::other, 0, Word::mention}, {"discusses", Lex::other, 0, Word::mention},
    {"shared", Lex::other, 0, Word::mention}, {"dated", Lex::other, 0, Word::mention},

    {"response", Lex::response, 0}, {"responses", Lex::response, 0, Word::none, false, true},
    {"message", Lex::response, 0}, {"messages", Lex::response, 0, Word::none, false, true},
    {"msg", Lex::response, 0}, {"turn", Lex::response, 0, Word::none, true},
    {"turns", Lex::response, 0, Word::none, false, true}, {"reply", Lex::response, 0},
    {"replies", Lex::response, 0, Word::none, false, true}, {"utterance", Lex::response, 0},
    {"utterances", Lex::response, 0, Word::none, false, true},

    {"morning", Lex::part, p(DayPart::morning)}, {"mornings", Lex::part, p(DayPart::morning), Word::none, false, true},
    {"afternoon", Lex::part, p(DayPart::afternoon)}, {"afternoons", Lex::part, p(DayPart::afternoon), Word::none, false, true},
    {"evening", Lex::part, p(DayPart::evening)}, {"evenings", Lex::part, p(DayPart::evening), Word::none, false, true},
    {"night", Lex::part, p(DayPart::night), Word::night}, {"nights", Lex::part, p(DayPart::night), Word::night, false, true},
    {"nighttime", Lex::part, p(DayPart::late)}, {"nighttimes", Lex::part, p(DayPart::late), Word::none, false, true},
    {"smallhours", Lex::part, p(DayPart::small_hours)},
    {"nite", Lex::part, p(DayPart::night), Word::night},
    {"today", Lex::day_word, 0}, {"yesterday", Lex::day_word, -1}, {"tomorrow", Lex::day_word, 1},
    {"tonight", Lex::day_word, 100}, {"spring", Lex::season, 0}, {"springtime", Lex::season, 0},
    {"summers", Lex::season, 1, Word::none, false, true}, {"autumns", Lex::season, 2, Word::none, false, true},
    {"winters", Lex::season, 3, Word::none, false, true},
    {"summer", Lex::season, 1}, {"summertime", Lex::season, 1}, {"autumn", Lex::season, 2}, {"fall", Lex::season, 2},
    {"winter", Lex::season, 3}, {"wintertime", Lex::season, 3},
    {"easter", Lex::holiday, 0}, {"halloween", Lex::holiday, 1},
    {"thanksgiving", Lex::holiday, 2}, {"christmas", Lex::holiday, 3},
    {"xmas", Lex::holiday, 3}, {"valentine", Lex::holiday, 4},
    {"valentines", Lex::holiday, 4},

    {"last", Lex::other, 0, Word::last}, {"final", Lex::other, 0, Word::last}, {"latest", Lex::other, 0, Word::last},
    {"closing", Lex::other, 0, Word::last}, {"past", Lex::other, 0, Word::past},
    {"previous", Lex::other, 0, Word::previous},
    {"prior", Lex::other, 0, Word::previous}, {"preceding", Lex::other, 0, Word::previous},
    {"recent", Lex::other, 0, Word::recent}, {"most", Lex::other, 0, Word::most},
    {"newest", Lex::other, 0, Word::last}, {"penultimate", Lex::other, 0, Word::penultimate},
    {"this", Lex::other, 0, Word::this_}, {"these", Lex::other, 0, Word::this_}, {"that", Lex::other, 0, Word::that},
    {"next", Lex::other, 0, Word::next}, {"upcoming", Lex::other, 0, Word::upcoming},
    {"coming", Lex::other, 0, Word::upcoming}, {"current", Lex::other, 0, Word::current},
    {"present", Lex::other, 0, Word::current}, {"ongoing", Lex::other, 0, Word::current},
    {"ago", Lex::other, 0, Word::ago}, {"back", Lex::other, 0, Word::back}, {"earlier", Lex::other, 0, Word::earlier},
    {"later", Lex::other, 0, Word::later}, {"before", Lex::other, 0, Word::before},
    {"preceeding", Lex::other, 0, Word::previous}, {"after", Lex::other, 0, Word::after},
    {"following", Lex::other, 0, Word::after}, {"since", Lex::other, 0, Word::since},
    {"until", Lex::other, 0, Word::until}, {"till", Lex::other, 0, Word::until}, {"til", Lex::other, 0, Word::until},
    {"to", Lex::other, 0, Word::to}, {"through", Lex::other, 0, Word::through}, {"thru", Lex::other, 0, Word::through},
    {"between", Lex::other, 0, Word::between}, {"and", Lex::other, 0, Word::and_}, {"or", Lex::other, 0, Word::or_},
    {"plus", Lex::other, 0, Word::and_}, {"from", Lex::other, 0, Word::from}, {"of", Lex::other, 0, Word::of},
    {"onward", Lex::other, 0, Word::onward}, {"onwards", Lex::other, 0, Word::onward},
    {"forward", Lex::other, 0, Word::onward}, {"the", Lex::other, 0, Word::the}, {"in", Lex::other, 0, Word::in},
    {"during", Lex::other, 0, Word::in}, {"within", Lex::other, 0, Word::in}, {"throughout", Lex::other, 0, Word::in},
    {"on", Lex::other, 0, Word::on}, {"at", Lex::other, 0, Word::at}, {"over", Lex::other, 0, Word::over},
    {"across", Lex::other, 0, Word::over}, {"around", Lex::other, 0, Word::around},
    {"about", Lex::other, 0, Word::around}, {"approximately", Lex::other, 0, Word::around},
    {"roughly", Lex::other, 0, Word::around}, {"by", Lex::other, 0, Word::by}, {"up", Lex::other, 0, Word::up},
    {"as", Lex::other, 0, Word::as}, {"a", Lex::other, 0, Word::a}, {"an", Lex::other, 0, Word::a},
    {"couple", Lex::other, 0, Word::couple}, {"pair", Lex::other, 0, Word::couple}, {"few", Lex::other, 0, Word::few},
    {"several", Lex::other, 0, Word::several}, {"dozen", Lex::other, 0, Word::dozen}, {"half", Lex::other, 0, Word::half},
    {"early", Lex::other, 0, Word::early}, {"mid", Lex::other, 0, Word::mid}, {"middle", Lex::other, 0, Word::mid},
    {"late", Lex::other, 0, Word::late}, {"beginning", Lex::other, 0, Word::begin},
    {"start", Lex::other, 0, Word::begin}, {"starting", Lex::other, 0, Word::starting},
    {"end", Lex::other, 0, Word::end}, {"close", Lex::other, 0, Word::end}, {"not", Lex::other, 0, Word::not_},
    {"but", Lex::other, 0, Word::but}, {"number", Lex::other, 0, Word::number}, {"no", Lex::other, 0, Word::number},
    {"num", Lex::other, 0, Word::number}, {"nr", Lex::other, 0, Word::number}, {"very", Lex::other, 0, Word::very},
    {"absolute", Lex::other, 0, Word::very}, {"ever", Lex::other, 0, Word::ever}, {"every", Lex::other, 0, Word::every},
    {"each", Lex::other, 0, Word::every}, {"all", Lex::other, 0, Word::every},
    {"exactly", Lex::other, 0, Word::exactly}, {"precisely", Lex::other, 0, Word::exactly},
    {"just", Lex::other, 0, Word::exactly}, {"so", Lex::other, 0, Word::so}, {"far", Lex::other, 0, Word::far},
    {"we", Lex::other, 0, Word::we}, {"you", Lex::other, 0, Word::we}, {"i", Lex::other, 0, Word::we},
    {"us", Lex::other, 0, Word::we}, {"we've", Lex::other, 0, Word::we}, {"we'd", Lex::other, 0, Word::we},
    {"they", Lex::other, 0, Word::we}, {"our", Lex::other, 0, Word::our}, {"my", Lex::other, 0, Word::our},
    {"their", Lex::other, 0, Word::our}, {"your", Lex::other, 0, Word::our}, {"now", Lex::other, 0, Word::now},
    {"noon", Lex::other, 43200, Word::noon}, {"midday", Lex::other, 43200, Word::noon},
    {"lunchtime", Lex::other, 43200, Word::noon}, {"midnight", Lex::other, 0, Word::midnight},
    {"except", Lex::other, 0}, {"without", Lex::other, 0}, {"recently", Lex::other, 0}, {"lately", Lex::other, 0},
    {"am", Lex::other, 0, Word::am}, {"pm", Lex::other, 0, Word::pm},
};

// clang-format on

}  // namespace

const LexiconEntry* lexicon_find(std::string_view lower) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string_view, const LexiconEntry*>();
    t->reserve(std::size(kWords) * 2);
    for (const LexiconEntry& e : kWords) t->emplace(e.spelling, &e);
    return t;
  }();
  const auto at = table->find(lower);
  return at == table->end() ? nullptr : at->second;
}

}  // namespace quern::memory
