#include "quern/memory/facts/foreign_finder.h"

#include <algorithm>

#include "quern/memory/facts/fact_fields.h"
#include "quern/memory/facts/foreign_tables.h"

namespace quern::memory {
namespace {

constexpr size_t kOpening = 4;      // words of a question in front of what it asks
constexpr size_t kMinDigits = 4;    // of a number to call
constexpr size_t kShortAnswer = 9;  // words: "In Kiel, seit Mai."
// Probabilities that a turn states the fact.
constexpr double kPlain = 0.85, kFresh = 0.92, kOfAnother = 0.7, kAnswer = 0.6;

const FactField* field_of(std::string_view kind) {
  const std::span<const FactField> all = fact_fields();
  // of the two fields of contacts the one with digits
  const auto at = std::find_if(all.begin(), all.end(), [&](const FactField& f) {
    return f.kind == kind && (kind != "contact" || f.value == FactValue::digits);
  });
  return at == all.end() ? nullptr : &*at;
}

bool has_digits(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) >=
         static_cast<std::ptrdiff_t>(kMinDigits);
}

bool asks(const std::string& text) { return text.find('?') != text.npos; }

// A phrase without a word of the first person, as "nach * gezogen", may be of anybody: then one must stand beside it.
bool tells(const ForeignFact& fact, const FoldedWords& words) {
  const ForeignSigns& signs = foreign_signs();
  const bool own_subject = fact.kind->kind == "contact" || any_in(signs.subject, words);
  return std::any_of(fact.kind->told.begin(), fact.kind->told.end(), [&](const WordPhrase& p) {
    return p.in(words) && (own_subject || p.names() || any_in(signs.first_person, folded_words(p.plain_words())));
  });
}

bool doubtful(const ForeignFact& fact, const FoldedWords& words) {
  const ForeignSigns& signs = foreign_signs();
  return any_in(signs.doubtful, words) || (any_in(signs.others, words) && !any_in(signs.subject, words)) ||
         (fact.kind->kind == "employer" && any_in(signs.today, words) && !any_in(signs.fresh, words));
}

bool has_value(const ForeignFact& fact, const std::string& text, const FoldedWords& words) {
  const std::string_view kind = fact.kind->kind;
  if (kind == "contact") return has_digits(text);
  if (kind == "home") return has_name(text) || any_in(foreign_signs().dwelling, words);
  return kind != "car" || has_name(text);
}

// `before`: what somebody else said right before it.
double judged(const ForeignFact& fact, const std::string& text, const FoldedWords& words, const std::string& before,
              bool own) {
  const ForeignSigns& signs = foreign_signs();
  if (text.ends_with('?')) return 0;
  if (tells(fact, words) && has_value(fact, text, words)) {
    if (doubtful(fact, words)) return 0;
    if (!own) return any_in(signs.first_person, words) ? 0 : kOfAnother;
    return any_in(signs.fresh, words) ? kFresh : kPlain;
  }
  if (!own || before.empty() || !asks(before) || words.size() > kShortAnswer || doubtful(fact, words)) return 0;
  const FoldedWords asked = folded_words(before);
  const bool to_them = any_in(fact.kind->asked, asked) && !any_in(signs.first_person, asked);
  return to_them ? kAnswer : 0;
}

}  // namespace

std::optional<ForeignFact> foreign_fact(std::string_view question, TimeSaid time,
                                        const std::vector<std::string>& speakers, const std::string& asker) {
  ForeignFact out;
  FoldedWords words = folded_words(question);
  for (size_t i = 0; i < speakers.size() && !out.question.speaker; ++i)
    if (mark_name(words, speakers[i])) out.question.speaker = static_cast<int32_t>(i);
  for (const ForeignKind& kind : foreign_kinds())
    if (any_in(kind.asked, words, kOpening)) {
      out.kind = &kind;
      break;
    }
  if (!out.kind) return std::nullopt;
  out.question.field = field_of(out.kind->kind);
  const ForeignSigns& signs = foreign_signs();
  const bool mine = any_in(signs.first_person, words);
  if (!out.question.speaker) {
    const auto at = std::find(speakers.begin(), speakers.end(), asker);
    if (at != speakers.end() && mine)
      out.question.speaker = static_cast<int32_t>(at - speakers.begin());
    else if (mine)
      out.asker_unknown = true;
    else
      return std::nullopt;
  }
  for (const std::string& w : words)
    if (w.size() == 4 && (w.starts_with("19") || w.starts_with("20")) &&
        std::all_of(w.begin(), w.end(), [](char c) { return c >= '0' && c <= '9'; }))
      out.year = std::stoi(w);
  const bool timed = time == TimeSaid::yes || out.year > 0, past = any_in(signs.past, words);
  out.question.time = any_in(signs.before, words) ? FactTime::before : timed && past ? FactTime::at : FactTime::now;
  if (past && !timed && out.question.time == FactTime::now) return std::nullopt;  // of no time that is known
  return out;
}

std::string foreign_statement_words(const ForeignFact& fact) {
  std::string out;
  constexpr size_t kTelling = 4;  // letters: shorter words are in most turns
  for (const WordPhrase& p : fact.kind->told)
    for (const std::string& w : folded_words(p.plain_words()))
      if (w.size() >= kTelling) out += w + " ";
  return out;
}

std::vector<FactStatement> find_foreign_statements(const ForeignFact& fact, const TurnTable& t,
                                                   const std::vector<uint32_t>& rows,
                                                   const std::vector<std::string>& speakers,
                                                   const std::function<std::string(uint32_t)>& text) {
  std::vector<FactStatement> out;
  if (!fact.question.speaker) return out;
  const int32_t who = *fact.question.speaker;
  for (const uint32_t row : rows) {
    const bool own = t.speaker[row] == who;
    const bool follows = row > 0 && t.session[row - 1] == t.session[row] && t.speaker[row - 1] != t.speaker[row];
    const std::string said = text(row);
    FoldedWords words = folded_words(said);
    if (!mark_name(words, speakers[static_cast<size_t>(who)]) && !own) continue;
    FactStatement s{row, judged(fact, said, words, own && follows ? text(row - 1) : "", own)};
    if (own && any_in(fact.kind->ended, words)) s.score = kPlain, s.ended = true;
    if (s.score > 0) out.push_back(s);
  }
  return out;
}

}  // namespace quern::memory
