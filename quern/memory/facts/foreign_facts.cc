#include "quern/memory/facts/foreign_facts.h"

#include <algorithm>
#include <iterator>

namespace quern::memory {
namespace {

// Beginnings of words: "wo wohn" of "wo wohne ich" and "wo wohnt Ada".
constexpr std::string_view kAsked[] = {
    // German
    "wo wohn", "wo lebe", "wo lebt", "wo arbeite", "fur wen arbeite", "bei wem arbeite", "wer ist mein",
    "wie heisst mein", "wie heissen mein", "wie lautet", "was ist mein beruf", "welchen beruf", "welcher arbeit",
    "was arbeite", "was mache ich beruflich", "was macht * beruflich", "von beruf", "welches auto", "welchen wagen",
    "telefonnummer", "handynummer", "was studier", "was ist mein", "wie ist meine nummer", "wie ist meine adresse",
    "welche adresse",
    // French
    "ou habit", "ou est-ce que j'habite", "ou est-ce que * habite", "ou vis", "ou vit", "ou travaill",
    "pour qui travaill", "chez qui travaill", "quel est mon", "quelle est ma", "quel est le metier",
    "quel est le travail", "quelle est la profession", "quelle est l'adresse", "quel metier", "comment s'appelle mon",
    "comment s'appelle ma", "numero de telephone", "quelle voiture", "qu'est-ce que j'etudie", "qui est mon",
    "qui est ma",
    // Spanish
    "donde viv", "donde trabaj", "para quien trabaj", "cual es mi", "cual es el trabajo", "cual es la profesion",
    "cual es el numero", "cual es la direccion", "como se llama mi", "a que me dedico", "a que se dedica",
    "numero de telefono", "que coche", "que carro", "en que trabaj", "que estudi", "quien es mi",
    // Chinese
    "住在哪", "住哪", "在哪里住", "在哪里工作", "在哪工作", "在哪上班", "做什么工作", "什么工作", "工作是什么",
    "职业", "电话号码", "手机号", "叫什么名字", "开什么车", "学什么专业", "住址"};

// Of what was said of it they ask no fact.
constexpr std::string_view kOfTalk[] = {"gesagt", "gesprochen", "geredet", "erzahl", "parl", " dit",
                                        "habl",   "dijo",       "dicho",   "说",     "聊",   "谈"};

bool begins_word(std::string_view text, size_t at) {
  const char c = at == 0 ? ' ' : text[at - 1];
  return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) || static_cast<unsigned char>(text[at]) >= 0x80;
}

// With a word in place of the star.
bool stands(std::string_view text, std::string_view phrase) {
  const size_t star = phrase.find('*');
  const std::string_view head = phrase.substr(0, std::min(star, phrase.size()));
  for (size_t at = text.find(head); at != text.npos; at = text.find(head, at + 1)) {
    if (!begins_word(text, at)) continue;
    if (star == phrase.npos) return true;
    const size_t word = text.find(' ', at + head.size());
    if (word != text.npos && text.substr(word).starts_with(phrase.substr(star + 1))) return true;
  }
  return false;
}

}  // namespace

bool asks_fact_elsewhere(std::string_view folded) {
  for (const std::string_view talk : kOfTalk)
    if (folded.find(talk) != folded.npos) return false;
  return std::any_of(std::begin(kAsked), std::end(kAsked), [&](std::string_view p) { return stands(folded, p); });
}

}  // namespace quern::memory
