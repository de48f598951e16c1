// Numbers and ordinals beside those in the tables of words.
#include "quern/memory/wording/table.h"

namespace quern::memory {

std::string_view german_numbers() {
  return R"(
einundzwanzig = twenty one
einundzwanzigste | einundzwanzigsten | einundzwanzigster = 21th
zweiundzwanzig = twenty two
zweiundzwanzigste | zweiundzwanzigsten | zweiundzwanzigster = 22th
dreiundzwanzig = twenty three
dreiundzwanzigste | dreiundzwanzigsten | dreiundzwanzigster = 23th
vierundzwanzig = twenty four
vierundzwanzigste | vierundzwanzigsten | vierundzwanzigster = 24th
funfundzwanzig = twenty five
funfundzwanzigste | funfundzwanzigsten | funfundzwanzigster = 25th
sechsundzwanzig = twenty six
sechsundzwanzigste | sechsundzwanzigsten | sechsundzwanzigster = 26th
siebenundzwanzig = twenty seven
siebenundzwanzigste | siebenundzwanzigsten | siebenundzwanzigster = 27th
achtundzwanzig = twenty eight
achtundzwanzigste | achtundzwanzigsten | achtundzwanzigster = 28th
neunundzwanzig = twenty nine
neunundzwanzigste | neunundzwanzigsten | neunundzwanzigster = 29th
einunddreissig = thirty one
einunddreissigste | einunddreissigsten | einunddreissigster = 31th
sechsunddreissig = thirty six
sechsunddreissigste | sechsunddreissigsten | sechsunddreissigster = 36th
sechzig = sixty
neunzig = ninety
siebzig = seventy
achtzig = eighty
dreizehn = thirteen
vierzehn = fourteen
achtundvierzig = forty eight
zweiundsiebzig = seventy two
dreizehnte | dreizehnten = thirteenth
vierzehnte | vierzehnten = fourteenth
funfzehnte | funfzehnten = fifteenth
sechzehnte | sechzehnten = sixteenth
siebzehnte | siebzehnten = seventeenth
achtzehnte | achtzehnten = eighteenth
neunzehnte | neunzehnten = nineteenth
zwanzigste | zwanzigsten = twentieth
dreissigste | dreissigsten = thirtieth
vierzigste | vierzigsten = fortieth
funfzigste | funfzigsten = fiftieth
hundertste | hundertsten = hundredth
)";
}

std::string_view french_numbers() {
  return R"(
vingt deux = twenty two
vingt trois = twenty three
vingt quatre = twenty four
vingt cinq = twenty five
vingt six = twenty six
vingt sept = twenty seven
vingt huit = twenty eight
vingt neuf = twenty nine
trente et un | trente et une = thirty one
trente six = thirty six
soixante = sixty
quatre vingt dix = ninety
quatre vingt = eighty
soixante dix = seventy
treizieme = thirteenth
quatorzieme = fourteenth
quinzieme = fifteenth
seizieme = sixteenth
dix septieme = seventeenth
dix huitieme = eighteenth
dix neuvieme = nineteenth
vingtieme = twentieth
trentieme = thirtieth
cinquantieme = fiftieth
centieme = hundredth
vingt et unieme = 21st
vingt deuxieme = 22th
vingt troisieme = 23th
vingt quatrieme = 24th
vingt cinquieme = 25th
vingt sixieme = 26th
vingt septieme = 27th
vingt huitieme = 28th
vingt neuvieme = 29th
12e | 12eme = 12th
13e | 13eme = 13th
14e | 14eme = 14th
15e | 15eme = 15th
16e | 16eme = 16th
17e | 17eme = 17th
18e | 18eme = 18th
19e | 19eme = 19th
20e | 20eme = 20th
21e | 21eme = 21th
22e | 22eme = 22th
23e | 23eme = 23th
24e | 24eme = 24th
25e | 25eme = 25th
26e | 26eme = 26th
27e | 27eme = 27th
28e | 28eme = 28th
29e | 29eme = 29th
30e | 30eme = 30th
31e | 31eme = 31th
)";
}

std::string_view spanish_numbers() {
  return R"(
veintidos = twenty two
veintitres = twenty three
veinticinco = twenty five
veintiseis = twenty six
veintisiete = twenty seven
veintiocho = twenty eight
veintinueve = twenty nine
veintiun | veintiuna = twenty one
treinta y uno | treinta y un | treinta y una = thirty one
treinta y seis = thirty six
sesenta = sixty
setenta = seventy
ochenta = eighty
noventa = ninety
decimotercera | decimotercero | decimotercer = thirteenth
decimocuarta | decimocuarto = fourteenth
decimoquinta | decimoquinto = fifteenth
decimosexta | decimosexto = sixteenth
decimoseptima | decimoseptimo = seventeenth
decimoctava | decimoctavo = eighteenth
decimonovena | decimonoveno = nineteenth
vigesima | vigesimo = twentieth
trigesima | trigesimo = thirtieth
decimoprimera | decimoprimer = eleventh
decimosegunda | decimosegundo = twelfth
1o | 1a | 1º | 1ª = 1th
2o | 2a | 2º | 2ª = 2th
3o | 3a | 3º | 3ª = 3th
4o | 4a | 4º | 4ª = 4th
5o | 5a | 5º | 5ª = 5th
6o | 6a | 6º | 6ª = 6th
7o | 7a | 7º | 7ª = 7th
8o | 8a | 8º | 8ª = 8th
9o | 9a | 9º | 9ª = 9th
10o | 10a | 10º | 10ª = 10th
11o | 11a | 11º | 11ª = 11th
12o | 12a | 12º | 12ª = 12th
13o | 13a | 13º | 13ª = 13th
14o | 14a | 14º | 14ª = 14th
15o | 15a | 15º | 15ª = 15th
16o | 16a | 16º | 16ª = 16th
17o | 17a | 17º | 17ª = 17th
18o | 18a | 18º | 18ª = 18th
19o | 19a | 19º | 19ª = 19th
20o | 20a | 20º | 20ª = 20th
21o | 21a | 21º | 21ª = 21th
22o | 22a | 22º | 22ª = 22th
23o | 23a | 23º | 23ª = 23th
24o | 24a | 24º | 24ª = 24th
25o | 25a | 25º | 25ª = 25th
26o | 26a | 26º | 26ª = 26th
27o | 27a | 27º | 27ª = 27th
28o | 28a | 28º | 28ª = 28th
29o | 29a | 29º | 29ª = 29th
30o | 30a | 30º | 30ª = 30th
31o | 31a | 31º | 31ª = 31th
)";
}

std::string_view chinese_numbers() {
  return R"(
一 | 壹 = one
二 | 两 | 兩 | 俩 = two
三 = three
四 = four
五 = five
六 = six
七 = seven
八 = eight
九 = nine
十 = ten
一百 | 百 = hundred
半 = half
几 | 幾 = few
好几 | 若干 = several
第 = di~
第一 = first
第二 = second
第三 = third
第四 = fourth
第五 = fifth
第六 = sixth
第七 = seventh
第八 = eighth
第九 = ninth
第十 = tenth
第十一 = eleventh
第十二 = twelfth
最初 | 最早 | 最开始 | 头一 = first
)";
}

}  // namespace quern::memory
