#include "quern/text/html/label_lines.h"

#include <algorithm>
#include <string>

#include "quern/text/html/scanner.h"

namespace quern::text {
namespace {

constexpr size_t kLongest = 120;  // bytes of such a line

constexpr std::string_view kBeginnings =
    "advertisement|also read|by:|categories:|category:|comments (|continue reading|copyright|"
    "credit:|credits:|email this|filed under|follow us|image credit|image:|image source|"
    "last modified|last updated|leave a comment|leave a reply|log in to|more on this|no comments|"
    "photo by|photo credit|photo:|photos:|photograph by|please share|posted by|posted in|"
    "posted on|print this|published in|read also|read more|read next|recommended for you|"
    "related articles|related posts|related:|release date:|see also|share on|share this|sign up|"
    "skip to|source:|sources:|subscribe|tagged|tags:|topics:|view comments|you may also like|"
    "you might also like|written by|aktualisiert am|alle angaben ohne gewähr|anzeige|artikel teilen|"
    "auch interessant|autor:|bild:|bilder:|bildnachweis|bildquelle|"
    "das könnte sie auch interessieren|diese seite teilen|drucken|foto:|fotos:|kategorie:|"
    "kategorien:|lesen sie auch|letzte änderung|letzte aktualisierung|mehr lesen|mehr zum thema|"
    "quelle:|quellen:|schlagworte:|schlagwörter:|stand:|teilen|veröffentlicht am|von:|"
    "weitere artikel|weitere beiträge|weitere informationen|weiterlesen|werbung|zum weiterlesen|"
    "zurück zu|© |à lire aussi|crédit|lire aussi|lire la suite|partager|photo ©|publié le|"
    "sur le même sujet|compartir|fuente:|le puede interesar|lea también|lee también|lee más|"
    "te puede interesar|temas relacionados|publicado en|foto ©|leia também|fonte:|leggi anche|"
    "condividi|czytaj też|czytaj także|zobacz również|zobacz też|źródło:|lees ook|bron:";

}  // namespace

bool is_label_line(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t-|([*"), line.size()));
  if (line.empty() || line.size() > kLongest) return false;
  constexpr size_t kCompared = 40;
  std::string lower(line.substr(0, kCompared));
  for (char& c : lower) c = html_lower(c);
  for (std::string_view rest = kBeginnings; !rest.empty();) {
    const std::string_view beginning = rest.substr(0, rest.find('|'));
    if (lower.starts_with(beginning)) return true;
    rest.remove_prefix(std::min(beginning.size() + 1, rest.size()));
  }
  return false;
}

}  // namespace quern::text
