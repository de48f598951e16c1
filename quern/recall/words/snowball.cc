#include "quern/recall/words/snowball.h"

#include <libstemmer.h>

#include <algorithm>
#include <memory>

#include "quern/base/error.h"

namespace quern::recall {
namespace {

constexpr size_t kMaxBytes = 256;  // longer runs are no words of a language

struct Free {
  void operator()(sb_stemmer* s) const { sb_stemmer_delete(s); }
};
struct Stemmer {
  std::string language;
  std::unique_ptr<sb_stemmer, Free> snowball;
};

sb_stemmer* stemmer_of(std::string_view language) {
  thread_local std::vector<Stemmer> made;  // a stemmer works in buffers of its own
  for (const Stemmer& s : made)
    if (s.language == language) return s.snowball.get();
  const std::vector<std::string> known = snowball_languages();
  if (std::find(known.begin(), known.end(), language) == known.end())
    fail("no stems are known for the language '{}'; expected english, {}", language, fmt::join(known, ", "));
  Stemmer s{std::string(language), nullptr};
  s.snowball.reset(sb_stemmer_new(s.language.c_str(), "UTF_8"));
  if (!s.snowball) fail("no memory for the stemmer of '{}'", language);
  return made.emplace_back(std::move(s)).snowball.get();
}

}  // namespace

std::vector<std::string> snowball_languages() {
  std::vector<std::string> names;
  for (const char** l = sb_stemmer_list(); *l; ++l)
    if (const std::string_view name = *l; name != "english" && name != "porter") names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void snowball_stem(std::string& word, std::string_view language) {
  sb_stemmer* const s = stemmer_of(language);
  if (word.size() > kMaxBytes) return;
  const sb_symbol* stem =
      sb_stemmer_stem(s, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
  if (!stem) fail("no memory for a stem of '{}'", word);
  word.assign(reinterpret_cast<const char*>(stem), static_cast<size_t>(sb_stemmer_length(s)));
}

}  // namespace quern::recall
