#include "quern/memory/facts/other_people.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "quern/memory/time/among.h"

namespace quern::memory {
namespace {

// Words like those for people that are none: "the boiler", "the summer".
constexpr std::string_view kThings[] = {
    "adapter",   "after",     "another",    "answer",    "armor",    "armour",     "australian", "better",
    "bicycle",   "boiler",    "border",     "bumper",    "butter",   "canadian",   "cancer",     "car",
    "cellar",    "center",    "centre",     "chapter",   "charger",  "christmas",  "color",      "colour",
    "computer",  "constant",  "cooker",     "corner",    "cottage",  "counter",    "cover",      "current",
    "cursor",    "cylinder",  "december",   "decor",     "dinner",   "dishwasher", "distant",    "door",
    "drier",     "dryer",     "east",       "easter",    "elephant", "elevator",   "error",      "escalator",
    "ever",      "fever",     "first",      "fist",      "floor",    "flower",     "flyer",      "folder",
    "freezer",   "generator", "german",     "giant",     "gist",     "gutter",     "hamster",    "harbor",
    "harbour",   "her",       "honor",      "honour",    "human",    "humor",      "humour",     "important",
    "indian",    "indoor",    "instant",    "italian",   "jumper",   "labor",      "labour",     "ladder",
    "laser",     "last",      "later",      "layer",     "lecture",  "letter",     "list",       "liver",
    "lower",     "major",     "manor",      "matter",    "meter",    "metre",      "minor",      "mirror",
    "mist",      "moment",    "monitor",    "motor",     "never",    "newer",      "november",   "number",
    "october",   "odor",      "odour",      "offer",     "older",    "order",      "other",      "outdoor",
    "over",      "paper",     "parlor",     "parlour",   "pepper",   "phd",        "plant",      "pleasant",
    "poster",    "power",     "printer",    "proper",    "quarter",  "radiator",   "rather",     "reactor",
    "remainder", "rest",      "restaurant", "river",     "roller",   "router",     "rumor",      "rumour",
    "scooter",   "semester",  "sensor",     "september", "server",   "shower",     "shutter",    "slipper",
    "speaker",   "summer",    "super",      "sweater",   "tender",   "tenner",     "term",       "theater",
    "theatre",   "timer",     "toaster",    "together",  "tower",    "tractor",    "trailer",    "tumbler",
    "twist",     "under",     "upper",      "vapor",     "vapour",   "vendor",     "victorian",  "waist",
    "washer",    "water",     "weather",    "west",      "whether",  "winner",     "winter",     "woman",
    "wrapper",   "younger"};
constexpr std::string_view kOfKin[] = {"sister", "brother", "mother", "father", "daughter", "tenant"};
constexpr std::string_view kPersons[] = {
    "aunt",      "boss",      "boy",      "bride",   "busker",   "captain", "chef",      "children", "clerk",
    "coach",     "colleague", "cook",     "couple",  "cousin",   "dad",     "doctor",    "family",   "flatmate",
    "friend",    "girl",      "gran",     "grandad", "grandma",  "groom",   "guide",     "guy",      "host",
    "housemate", "husband",   "intern",   "judge",   "kid",      "kids",    "king",      "lady",     "landlady",
    "landlord",  "man",       "mate",     "mayor",   "men",      "mom",     "mum",       "nan",      "neighbor",
    "neighbour", "nephew",    "niece",    "nun",     "nurse",    "parents", "people",    "pilot",    "police",
    "porter",    "postie",    "priest",   "prince",  "princess", "prof",    "professor", "queen",    "roommate",
    "son",       "student",   "students", "uncle",   "vet",      "wife",    "woman",     "women"};
constexpr std::string_view kFirst[] = {"i",   "i'd",  "i'll",      "i'm", "i've", "im",    "ive",   "mine", "myself",
                                       "our", "ours", "ourselves", "we",  "we'd", "we'll", "we're", "we've"};
constexpr std::string_view kDeterminers[] = {"a",    "an",   "another", "every", "her",   "his",  "one",
                                             "some", "that", "the",     "their", "these", "this", "those"};
// Who does this gives a job, or takes it away.
constexpr std::string_view kGiving[] = {
    "appointed me", "chose me",   "employed me", "employs me", "fired me",    "found me",    "gave me a job",
    "gave me the",  "hired me",   "hired us",    "keep me on", "kept me on",  "laid me off", "let me go",
    "made me",      "moved me",   "offered me",  "picked me",  "promoted me", "sacked me",   "take me on",
    "taking me on", "took me on", "want me",     "wanted me",  "wants me"};
constexpr std::string_view kOpening[] = {
    "also", "and",  "anyway", "apparently", "but",   "hey",     "honestly", "meanwhile", "no",       "oh",
    "ok",   "okay", "so",     "then",       "today", "tonight", "well",     "yes",       "yesterday"};
constexpr std::string_view kNoSubjects[] = {"is",   "was", "of", "in", "at",  "for",
                                            "with", "and", "to", "on", "has", "had"};
constexpr std::string_view kOfJobs[] = {"job",      "jobs",   "role",  "position", "post",
                                        "training", "course", "shift", "life"};
constexpr std::string_view kHaving[] = {"has", "have", "had", "got", "adopted", "bought", "owns", "rents", "rented"};
constexpr std::string_view kDoing[] = {"works", "lives", "lived", "drives", "studies", "studied", "teaches", "moved"};
constexpr std::string_view kAmounts[] = {"a",    "an",      "two", "three", "four", "five", "new",
                                         "some", "another", "the", "his",   "her",  "their"};

using Words = std::vector<std::string_view>;

bool ends_as_person(std::string_view w) {
  for (const std::string_view end : {"er", "or", "ist", "man", "woman", "men", "women", "ian", "ress"})
    if (w.ends_with(end)) return true;
  return false;
}

bool person(std::string_view w) {
  if (w.ends_with("'s")) return false;
  const std::string_view one = w.ends_with('s') && w.size() > 4 ? w.substr(0, w.size() - 1) : w;
  if (among(w, kPersons) || among(one, kPersons) || among(one, kOfKin)) return true;
  if (among(w, kThings) || among(one, kThings) || one.size() < 5) return false;
  return ends_as_person(one);
}

Words words_of(std::string_view sentence) {
  Words out;
  const auto inside = [&](size_t i) {
    const unsigned char c = static_cast<unsigned char>(sentence[i]);
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '\'' || c == '-';
  };
  for (size_t i = 0; i < sentence.size();) {
    size_t end = i;
    while (end < sentence.size() && inside(end)) ++end;
    if (end > i) out.push_back(sentence.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  size_t opening = 0;
  while (opening < out.size() && among(out[opening], kOpening)) ++opening;
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(opening));
  return out;
}

// Where somebody else is the subject, "the bus driver …", "my landlord …": the place of the last word of it.
std::optional<size_t> other_subject(const Words& w) {
  if (w.empty() || (!among(w[0], kDeterminers) && w[0] != "my" && w[0] != "our")) return std::nullopt;
  for (size_t k = 1; k < 4 && k + 1 < w.size(); ++k) {
    if (person(w[k])) {
      while (k + 2 < w.size() && person(w[k + 1])) ++k;
      return k;
    }
    if (among(w[k], kNoSubjects)) return std::nullopt;
  }
  return std::nullopt;
}

template <class F>
void each_sentence(std::string_view text, F&& f) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(".!?;", begin), text.size());
    f(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::string without_other_subjects(std::string_view lower) {
  std::string out(lower);
  each_sentence(lower, [&](std::string_view sentence) {
    const Words w = words_of(sentence);
    const auto last = other_subject(w);
    if (!last || w[0] == "my" || w[0] == "our" || among(w[*last + 1], kOfJobs)) return;
    for (size_t k = *last + 1; k < w.size(); ++k)
      if (among(w[k], kFirst)) return;
    for (const std::string_view gives : kGiving)
      if (sentence.find(gives) != sentence.npos) return;
    const auto from = static_cast<size_t>(w[0].data() - lower.data());
    const size_t to = static_cast<size_t>(w[*last].data() - lower.data()) + w[*last].size();
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(from), out.begin() + static_cast<std::ptrdiff_t>(to), ' ');
  });
  return out;
}

bool tells_of_others(std::string_view lower) {
  bool any = false, all = true;
  each_sentence(lower, [&](std::string_view sentence) {
    const Words w = words_of(sentence);
    if (w.size() < 2) return;
    const auto last = other_subject(w);
    bool other = last.has_value();
    for (size_t k = last.value_or(0) + 1; other && k < w.size(); ++k)
      other = !among(w[k], kFirst) && w[k] != "me" && w[k] != "us" && w[k] != "my";
    if (other) {
      const std::string_view verb = w[*last + 1];
      other =
          among(verb, kDoing) || (among(verb, kHaving) && *last + 2 < w.size() &&
                                  (among(w[*last + 2], kAmounts) || (w[*last + 2] == "got" && *last + 3 < w.size())));
    }
    any |= other, all &= other;
  });
  return any && all;
}

}  // namespace quern::memory
