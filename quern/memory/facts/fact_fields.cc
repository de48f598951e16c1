#include "quern/memory/facts/fact_fields.h"

#include <algorithm>

namespace quern::memory {
namespace {

using W = std::string_view;
constexpr W kHomeAsked[] = {"which city", "what city", "which town",  "my home", "home now", "live now",
                            "settled",    "house now", "staying now", "live",    "lives",    "living",
                            "lived",      "reside",    "based",       "hometown"};
constexpr W kHomeTold[] = {
    "live in",     "living in",  "lives in",   "lived in",  "live on",           "moved to",
    "moved into",  "move to",    "moving to",  "relocated", "resident of",       "like home",
    "renting",     "rented",     "flat in",    "house in",  "place in",          "cottage",
    "settled",     "the keys",   "based in",   "been in",   "life in",           "moved in",
    "moved back",  "flat",       "bungalow",   "home now",  "for me these days", "apartment",
    "settling in", "staying in", "at home in", "boxes",     "care home",         "still lives"};
constexpr W kEmployerAsked[] = {"work for",
                                "works for",
                                "worked for",
                                "work now",
                                "employer",
                                "employed",
                                "working at",
                                "company",
                                "working for",
                                "where do i work",
                                "does work",
                                "hospital",
                                "working at the moment",
                                "which company",
                                "what company",
                                "where did i work",
                                "what firm",
                                "which firm",
                                "work these days",
                                "work at the moment"};
constexpr W kEmployerTold[] = {
    "first day at", "start at", "started at",   "starting at",    "working at",   "working for",    "work for",
    "work at",      "job at",   "joined",       "hired",          "picked up by", "signed on with", "i'm with",
    "contract",     "my pay",   "badge",        "still at",       "nurse at",     "moved over to",  "new employer",
    "took me on",   "want me",  "went over to", "on the payroll", "left"};
constexpr W kJobAsked[] = {"job",        "for a living", "for work", "role",       "position",
                           "occupation", "profession",   "title",    "do for work"};
constexpr W kJobTold[] = {"i'm a",          "i'm an",        "i'm the",   "i am a",     "promoted",   "made me",
                          "trainee",        "self-employed", "work as",   "working as", "teach",      "driving the",
                          "head of",        "apprentice",    "qualified", "job as",     "started as", "officer",
                          "manager",        "developer",     "nurse",     "driver",     "librarian",  "chef",
                          "step back down", "career",        "brigade",   "joined the", "retrained"};
constexpr W kCarAsked[] = {"car", "van", "vehicle", "drive", "driving"};
constexpr W kCarTold[] = {"bought", "picked up", "swapped", "drive a", "driving a",  "traded",  "new car",
                          "lease",  "car",       "van",     "estate",  "my new one", "new one", "motor"};
constexpr W kBikeAsked[] = {"bike", "bicycle", "ride"};
constexpr W kBikeTold[] = {"riding a", "bike", "cycled", "bicycle", "ride a", "the old"};
constexpr W kPhoneAsked[] = {"phone number", "number", "telephone", "mobile number"};
constexpr W kPhoneTold[] = {"number", "ring me", "call me", "reach me",    "text me",
                            "sim",    "on 0",    "it's me", "is mine now", "me on"};
constexpr W kMailAsked[] = {"email", "e-mail", "mail address"};
constexpr W kMailTold[] = {"write to me", "inbox", "email", "e-mail", "mail", "send", "reach me", "instead"};
constexpr W kAddressAsked[] = {"address", "street"};
constexpr W kAddressTold[] = {"address", "i'm at", "live at", "moved to", "living at", "flat"};
constexpr W kFavouriteAsked[] = {"favourite", "favorite", "like best", "like most", "love most", "prefer"};
constexpr W kFavouriteTold[] = {"favourite",      "favorite", "the best",  "number one",    "nothing beats",
                                "beats",          "knocked",  "obsessed",  "over anything", "top of my list",
                                "gone right off", "prefer",   "best thing"};
constexpr W kDietAsked[] = {"gluten",        "dairy",       "meat",           "alcohol",         "drink",
                            "vegetarian or", "pescatarian", "what can i eat", "food do i avoid", "eat",
                            "diet",          "vegan",       "vegetarian"};
constexpr W kDietTold[] = {"vegan",  "vegetarian", "veggie", "pescatarian", "fish",  "meat",
                           "gluten", "dairy",      "keto",   "plant-based", "eating"};
constexpr W kAllergyAsked[] = {"allergic", "allergy", "avoiding", "avoid", "intolerant"};
constexpr W kAllergyTold[] = {"allergic", "allergy", "intolerant", "gluten", "nuts", "avoid", "reaction"};
constexpr W kPartnerAsked[] = {"boyfriend",     "girlfriend",     "partner",      "husband",           "wife",
                               "dating",        "going out with", "seeing",       "married to",        "fiance",
                               "fiancé",        "fiancée",        "fiancee",      "was i with",        "am i with",
                               "together with", "relationship",   "in love with", "engaged to",        "girlfriend's",
                               "married",       "single",         "love life",    "significant other", "with before"};
constexpr W kPartnerTold[] = {"boyfriend",   "girlfriend", "partner",     "dating", "seeing",   "going out",
                              "engaged",     "married",    "together",    "split",  "broke up", "single",
                              "met someone", "kissed",     "anniversary", "and i"};
constexpr W kPetAsked[] = {"animal", "animals", "dogs",       "cats",       "pet",   "pets",
                           "dog",    "cat",     "dog called", "cat called", "parrot"};
constexpr W kPetTold[] = {"dog",    "cat",     "puppy",  "kitten", "rabbit",    "hamster", "guinea", "named",
                          "called", "adopted", "rescue", "vet",    "greyhound", "parrot",  "budgie"};
constexpr W kStudyAsked[] = {"study", "studying", "course", "degree", "subject", "major"};
constexpr W kStudyTold[] = {"studying", "degree",     "course",      "enrolled",  "switched to",
                            "dropped",  "university", "level",       "semester",  "lecture",
                            "lectures", "class",      "transferred", "signed up", "doing"};
constexpr W kLearnAsked[] = {"learning", "learn", "lessons", "instrument"};
constexpr W kLearnTold[] = {"learning", "lessons", "practising",     "practise", "teacher",      "duolingo",
                            "playing",  "grade",   "trying my hand", "class",    "evening class"};
constexpr W kDeviceAsked[] = {"mobile",  "smartphone", "watch",   "console",   "device", "kindle",
                              "printer", "bicycle",    "laptop",  "phone",     "camera", "e-reader",
                              "tablet",  "computer",   "machine", "headphones"};
constexpr W kDeviceTold[] = {"replaced", "swapped",   "switched", "shoot with",     "work on a",
                             "i'm on a", "bought",    "new",      "talked me into", "brought",
                             "with a",   "my kindle", "upgraded", "photos with",    "still on"};

constexpr W kClubAsked[] = {"gym",      "club",      "choir",   "band", "member",     "membership", "belong to",
                            "play for", "sing with", "sing in", "team", "train with", "orchestra",  "society"};
constexpr W kClubTold[] = {"member",   "membership",         "joined", "signed up", "training with",
                           "play for", "card's in my wallet"};
constexpr W kCommuteAsked[] = {"get to work",    "get to the office", "getting to work", "getting to the office",
                               "commute",        "commuting",         "travel to work",  "travel to the office",
                               "go to work",     "come to work",      "get to school",   "get to uni",
                               "get to the lab", "get into work",     "get in to work",  "get to my job",
                               "get to college"};
constexpr W kCommuteTold[] = {"to work", "to the office", "each way", "commute", "every morning", "work from home"};
constexpr W kNone[] = {"how many"};

constexpr FactField kCount{kNone, {}, FactValue::any, "count", true};
constexpr FactField kAppointment{kNone, {}, FactValue::any, "appointment", true};
constexpr FactField kFields[] = {
    {kCommuteAsked, kCommuteTold, FactValue::any, "commute"},
    {kMailAsked, kMailTold, FactValue::at_sign, "contact"},
    {kPhoneAsked, kPhoneTold, FactValue::digits, "contact"},
    {kAddressAsked, kAddressTold, FactValue::street, "contact"},
    {kFavouriteAsked, kFavouriteTold, FactValue::any, "favourite", true},
    {kClubAsked, kClubTold, FactValue::any, "club", true},
    {kEmployerAsked, kEmployerTold, FactValue::name, "employer"},
    {kJobAsked, kJobTold, FactValue::any, "job"},
    {kHomeAsked, kHomeTold, FactValue::name, "home"},
    {kDeviceAsked, kDeviceTold, FactValue::name, "device"},
    {kCarAsked, kCarTold, FactValue::name, "car"},
    {kBikeAsked, kBikeTold, FactValue::name, "device"},
    {kAllergyAsked, kAllergyTold, FactValue::any, "diet"},
    {kDietAsked, kDietTold, FactValue::any, "diet"},
    {kPartnerAsked, kPartnerTold, FactValue::name, "partner"},
    {kPetAsked, kPetTold, FactValue::any, "pet", true},
    {kLearnAsked, kLearnTold, FactValue::any, "study"},
    {kStudyAsked, kStudyTold, FactValue::any, "study"},
};

}  // namespace

std::span<const FactField> fact_fields() { return kFields; }
const FactField& count_field() { return kCount; }
const FactField& appointment_field() { return kAppointment; }
const FactField& commute_field() { return kFields[0]; }

bool has_phrase(std::string_view lower, std::string_view phrase) {
  const auto letter = [&](size_t i) {
    return i < lower.size() && ((lower[i] >= 'a' && lower[i] <= 'z') || (lower[i] >= '0' && lower[i] <= '9'));
  };
  for (size_t at = lower.find(phrase); at != lower.npos; at = lower.find(phrase, at + 1))
    if ((at == 0 || !letter(at - 1)) && !letter(at + phrase.size())) return true;
  return false;
}

bool has_any_phrase(std::string_view lower, FactWords phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view p) { return has_phrase(lower, p); });
}

}  // namespace quern::memory
