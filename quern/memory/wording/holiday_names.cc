// Holidays as they are called in German, French, Spanish and Chinese, and the English name that the time grammar knows
// (time/holidays.cc): that of the country whose language it is, where the same name means another day elsewhere.
#include "quern/memory/wording/table.h"

namespace quern::memory {

std::string_view german_holidays() {
  return R"(
silvester | silvesterabend | silvesternacht | altjahrsabend | jahreswechsel | altjahrestag = New Year's Eve
neujahr = New Year
neujahrstag | neujahrsmorgen = New Year's Day
dreikonigstag | heilige drei konige | heiligen drei konige | dreikonig | dreikonigsfest | heilig drei konig | epiphanias | dreikonige | dreikonigen = Epiphany
lichtmess | maria lichtmess | mariae lichtmess = Candlemas
valentinstag | valentin = Valentine's Day
weltfrauentag | frauentag | internationalen frauentag | internationaler frauentag | internationale frauentag = Women's Day
st patricks day | st. patricks day = St Patrick's Day
josefstag | josefitag = St Joseph's Day
aprilscherztag = April Fools Day
weiberfastnacht | altweiber | altweiberfastnacht | altweiberfasching | weiberfasnacht | schmutziger donnerstag = Weiberfastnacht
faschingssamstag | karnevalssamstag = Carnival Saturday
faschingssonntag | karnevalssonntag | fastnachtssonntag | tulpensonntag = Carnival Sunday
rosenmontag | fastnachtsmontag | faschingsmontag = Rose Monday
fastnacht | faschingsdienstag | fastnachtsdienstag | karnevalsdienstag | veilchendienstag | fasching | fasnacht | faschingstag = Shrove Tuesday
aschermittwoch = Ash Wednesday
palmsonntag = Palm Sunday
grundonnerstag | gruendonnerstag = Maundy Thursday
karfreitag = Good Friday
karsamstag | ostersamstag | osterabend | osternacht = Holy Saturday
ostern | ostersonntag | osterfest | oster sonntag | ostertag | osterfeiertag | osterfeiertage | osterfeiertagen = Easter
ostermontag | oster montag | zweiten osterfeiertag | zweiter osterfeiertag | zweiten ostertag = Easter Monday
oster wochenende | osterwochenende = Easter weekend
pfingst wochenende | pfingstwochenende = Pentecost weekend
weisser sonntag | weissen sonntag = Low Sunday
walpurgisnacht | hexennacht | tanz in den mai = Walpurgis Night
tag der arbeit | maifeiertag | erster mai | 1. mai | kampftag der arbeiterklasse = May Day
muttertag = Mother's Day
himmelfahrt | christi himmelfahrt | himmelfahrtstag | christihimmelfahrt | auffahrt = Ascension Day
vatertag | herrentag | mannertag = German Father's Day
pfingsten | pfingstsonntag | pfingstfest | pfingsttag | pfingstfeiertag | pfingstfeiertage = Pentecost
pfingstmontag | zweiten pfingsttag | zweiten pfingstfeiertag = Whit Monday
fronleichnam | fronleichnamstag = Corpus Christi
kindertag | weltkindertag | internationalen kindertag = Children's Day
johannistag | johanni = Midsummer Day
johannisnacht = Midsummer Eve
maria himmelfahrt | mariae himmelfahrt | maria himmelfahrtstag = Assumption Day
schweizer nationalfeiertag | bundesfeiertag = Swiss National Day
franzosischen nationalfeiertag | franzosischer nationalfeiertag = Bastille Day
tag der deutschen einheit | tag der einheit | deutschen einheit | einheitstag | nationalfeiertag | einheitsfeiertag | tag der dt einheit = Unity Day
osterreichischen nationalfeiertag | osterreichischer nationalfeiertag = Austrian National Day
reformationstag | reformationsfest = Reformation Day
halloween | halloweenabend = Halloween
allerheiligen | allerheiligentag = All Saints Day
allerseelen | allerseelentag = All Souls Day
martinstag | st martin | sankt martin | st. martin | martini = St Martin's Day
elfter elfter | elften elften | karnevalsbeginn | faschingsbeginn | karnevalsauftakt = St Martin's Day
volkstrauertag = National Mourning Day
buss und bettag | busstag | buss- und bettag = Repentance Day
totensonntag | ewigkeitssonntag = Totensonntag
thanksgiving = Thanksgiving
black friday = Black Friday
cyber monday = Cyber Monday
erster advent | ersten advent | 1st advent | ersten adventssonntag | erster adventssonntag | ersten adventsonntag | 1th advent = First Advent
zweiter advent | zweiten advent | zweiten adventssonntag | zweiter adventssonntag | 2nd advent | 2th advent = Second Advent
dritter advent | dritten advent | dritten adventssonntag | dritter adventssonntag | 3rd advent | 3th advent = Third Advent
vierter advent | vierten advent | vierten adventssonntag | vierter adventssonntag | 4th advent = Fourth Advent
barbaratag = St Barbara's Day
nikolaus | nikolaustag | nikolo | sankt nikolaus | nikolausabend | st nikolaus = St Nicholas Day
luciafest | luzia | luciatag = St Lucia Day
heiligabend | heiliger abend | heiligen abend | weihnachtsabend | heilig abend | hl abend | christnacht | heiligabends | weihnachtsvorabend = Christmas Eve
weihnachten | ersten weihnachtstag | ersten weihnachtsfeiertag | erster weihnachtstag | erster weihnachtsfeiertag | weihnachtstag | weihnachtsfeiertag | weihnachtsfest | christtag | 1th weihnachtstag | 1th weihnachtsfeiertag | weihnacht = Christmas Day
zweiten weihnachtstag | zweiten weihnachtsfeiertag | zweiter weihnachtstag | zweiter weihnachtsfeiertag | stephanstag | stefanitag | stephanitag | zweiten feiertag | 2th weihnachtstag | 2th weihnachtsfeiertag = Boxing Day
unabhangigkeitstag | amerikanischen unabhangigkeitstag = Independence Day
chinesischen neujahr | chinesisches neujahr | chinesischen neujahrsfest | chinesisches neujahrsfest = Chinese New Year
)";
}

std::string_view french_holidays() {
  return R"(
la saint sylvestre | saint sylvestre | st sylvestre | le reveillon du nouvel an | reveillon du nouvel an | reveillon du jour de l' an | reveillon du 31 | nuit du reveillon | soir du reveillon | le reveillon de la saint sylvestre | reveillon de la saint sylvestre | la veille du jour de l' an | veille du nouvel an | veille du jour de l' an | soiree du nouvel an | nuit du nouvel an = New Year's Eve
nouvel an | le nouvel an = New Year
le jour de l' an | jour de l' an | premier de l' an | le premier de l' an | jour du nouvel an = New Year's Day
epiphanie | fete des rois | jour des rois | l' epiphanie | galette des rois = Epiphany
chandeleur | la chandeleur | jour des crepes = Candlemas
saint valentin | la saint valentin | st valentin | la st valentin | fete des amoureux = Valentine's Day
lundi gras = Rose Monday
mardi gras | carnaval = Shrove Tuesday
mercredi des cendres = Ash Wednesday
journee des femmes | journee internationale des femmes | journee de la femme | journee internationale de la femme | journee internationale des droits des femmes | journee des droits des femmes | fete des femmes = Women's Day
fete des grands meres | fete des grand meres | fete des mamies = French Grandmother's Day
saint patrick | la saint patrick | st patrick = St Patrick's Day
saint joseph = St Joseph's Day
poisson d' avril | jour du poisson d' avril = April Fools Day
dimanche des rameaux | les rameaux | rameaux = Palm Sunday
lundi saint = Holy Monday
mardi saint = Holy Tuesday
mercredi saint = Holy Wednesday
jeudi saint = Maundy Thursday
vendredi saint = Good Friday
samedi saint = Holy Saturday
paques | dimanche de paques | jour de paques | fete de paques = Easter
lundi de paques = Easter Monday
week end de paques | weekend de paques = Easter weekend
week end de la pentecote | week end de pentecote | weekend de pentecote | weekend de la pentecote = Pentecost weekend
fete du travail | fete des travailleurs | jour du muguet | fete du muguet | premier mai = May Day
fete de la victoire | jour de la victoire | armistice de 1945 | victoire de 1945 | victoire 1945 | anniversaire de la victoire = VE Day
fete des meres = French Mother's Day
fete des peres = Father's Day
ascension | jeudi de l' ascension | l' ascension | jour de l' ascension = Ascension Day
pentecote | dimanche de pentecote | dimanche de la pentecote | la pentecote = Pentecost
lundi de pentecote | lundi de la pentecote = Whit Monday
fete dieu = Corpus Christi
fete de la musique = Music Day
saint jean | la saint jean | fete de la saint jean = Midsummer Day
fete nationale | quatorze juillet | prise de la bastille | jour de la bastille | jour de la fete nationale = Bastille Day
fete nationale suisse = Swiss National Day
assomption | l' assomption | quinze aout = Assumption Day
halloween | soir d' halloween | nuit d' halloween = Halloween
toussaint | la toussaint | jour de la toussaint | fete de la toussaint = All Saints Day
jour des morts | fete des morts | jour des defunts | fete des defunts = All Souls Day
armistice | l' armistice | jour de l' armistice | armistice de 1918 | onze novembre | commemoration de l' armistice = Armistice Day
saint martin | la saint martin = St Martin's Day
thanksgiving | action de grace | action de graces = Thanksgiving
black friday | vendredi noir = Black Friday
cyber monday = Cyber Monday
premier dimanche de l' avent = First Advent
deuxieme dimanche de l' avent = Second Advent
troisieme dimanche de l' avent = Third Advent
quatrieme dimanche de l' avent = Fourth Advent
saint nicolas | la saint nicolas | st nicolas | fete de la saint nicolas = St Nicholas Day
immaculee conception = Immaculate Conception
fete des lumieres = Immaculate Conception
reveillon de noel | la veille de noel | veille de noel | reveillon | le reveillon | la veillee de noel | le soir de noel | soir de noel | nuit de noel | soir du 24 = Christmas Eve
noel | jour de noel | le jour de noel | fete de noel = Christmas Day
lendemain de noel | saint etienne | la saint etienne | st etienne = Boxing Day
journee des enfants | journee internationale des enfants = Children's Day
nouvel an chinois | le nouvel an chinois | nouvel an lunaire = Chinese New Year
)";
}

std::string_view spanish_holidays() {
  return R"(
nochevieja | noche vieja | fin de ano | ultimo dia del ano | vispera de ano nuevo | dia de nochevieja | noche de fin de ano | dia de fin de ano | san silvestre | noche de ano nuevo | vispera de fin de ano = New Year's Eve
dia de ano nuevo | primer dia del ano | primero de ano | primero del ano | el dia de ano nuevo = New Year's Day
ano nuevo = New Year
dia de reyes | reyes | los reyes magos | epifania | reyes magos | dia de los reyes | dia de los reyes magos | dia de reyes magos | los reyes = Epiphany
noche de reyes | la noche de reyes | vispera de reyes | cabalgata de reyes = Twelfth Night
candelaria | dia de la candelaria = Candlemas
san valentin | dia de san valentin | dia de los enamorados | dia del amor | dia del amor y la amistad = Valentine's Day
jueves lardero | jueves graso = Weiberfastnacht
lunes de carnaval = Rose Monday
martes de carnaval | carnaval | carnavales = Shrove Tuesday
miercoles de ceniza = Ash Wednesday
dia de la mujer | dia internacional de la mujer | dia de las mujeres = Women's Day
san jose | dia de san jose | dia del padre = St Joseph's Day
san patricio | dia de san patricio = St Patrick's Day
domingo de ramos = Palm Sunday
lunes santo = Holy Monday
martes santo = Holy Tuesday
miercoles santo = Holy Wednesday
jueves santo = Maundy Thursday
viernes santo = Good Friday
sabado santo | sabado de gloria = Holy Saturday
pascua | domingo de resurreccion | domingo de pascua | pascua de resurreccion | dia de pascua | domingo de gloria = Easter
lunes de pascua = Easter Monday
san jorge | sant jordi | dia del libro | dia de sant jordi | dia de san jorge = St George's Day
dia del trabajo | dia del trabajador | dia de los trabajadores | dia internacional del trabajo | dia internacional de los trabajadores | primero de mayo | fiesta del trabajo | dia del obrero | uno de mayo = May Day
dia de la madre = Spanish Mother's Day
cinco de mayo = Cinco de Mayo
san isidro | dia de san isidro = St Isidore's Day
ascension | dia de la ascension = Ascension Day
pentecostes | domingo de pentecostes = Pentecost
lunes de pentecostes = Whit Monday
corpus christi | corpus | dia del corpus = Corpus Christi
dia del nino = Children's Day
noche de san juan | la noche de san juan | vispera de san juan | verbena de san juan = Midsummer Eve
san juan | dia de san juan = Midsummer Day
san fermin | sanfermines = St Fermin
santiago apostol | dia de santiago | dia de santiago apostol = St James Day
asuncion | la asuncion | dia de la asuncion | virgen de agosto | la virgen de agosto | asuncion de la virgen = Assumption Day
grito de dolores | dia de la independencia de mexico | fiestas patrias mexicanas = Mexican Independence Day
fiesta nacional | dia de la hispanidad | hispanidad | dia del pilar | el pilar | virgen del pilar | dia de la raza | dia de la fiesta nacional | dia nacional | fiesta nacional de espana | doce de octubre = Spanish National Day
dia de la independencia | cuatro de julio = Independence Day
halloween | noche de halloween | noche de brujas | noche de las brujas = Halloween
todos los santos | dia de todos los santos | dia de los santos | tosantos = All Saints Day
dia de los muertos | dia de muertos | dia de los difuntos | dia de los fieles difuntos | fieles difuntos = All Souls Day
almudena | dia de la almudena | la almudena = Our Lady of Almudena
accion de gracias | dia de accion de gracias | thanksgiving = Thanksgiving
black friday | viernes negro = Black Friday
cyber monday = Cyber Monday
san martin = St Martin's Day
san nicolas = St Nicholas Day
constitucion | la constitucion | dia de la constitucion = Spanish Constitution Day
inmaculada | la inmaculada | dia de la inmaculada | inmaculada concepcion | la purisima = Immaculate Conception
dia de guadalupe | virgen de guadalupe | dia de la virgen de guadalupe = Our Lady of Guadalupe
santa lucia = St Lucia Day
loteria de navidad | dia de la loteria | sorteo de navidad | el gordo | dia del gordo = Christmas Lottery Day
nochebuena | noche buena | vispera de navidad | dia de nochebuena | noche de navidad | la nochebuena = Christmas Eve
navidad | dia de navidad | navidades | la navidad | el dia de navidad | natividad = Christmas Day
san esteban | dia de san esteban = Boxing Day
santos inocentes | dia de los santos inocentes | dia de los inocentes | los inocentes | inocentes = Holy Innocents Day
ano nuevo chino | el ano nuevo chino | ano nuevo lunar = Chinese New Year
)";
}

std::string_view chinese_holidays() {
  return R"(
元旦 | 元旦节 | 新年第一天 | 阳历新年 | 新年 | 元旦那天 | 新年那天 = New Year's Day
除夕夜 | 除夕 | 大年三十 | 年三十 | 年夜 | 大年夜 | 年三十晚上 | 春节前夜 | 农历除夕 = Chinese New Year Eve
跨年夜 | 跨年 | 跨年那天 | 元旦前夜 | 新年前夜 = New Year's Eve
春节 | 大年初一 | 农历新年 | 正月初一 | 中国新年 | 大年 | 年初一 | 新春 | 过年 | 過年 | 農曆新年 | 春節 = Chinese New Year
大年初二 | 正月初二 | 年初二 = Second Day of Spring Festival
大年初三 | 正月初三 | 年初三 = Third Day of Spring Festival
大年初五 | 正月初五 = Fifth Day of Spring Festival
元宵节 | 元宵 | 正月十五 | 上元节 | 灯节 | 元宵節 = Lantern Festival
妇女节 | 三八妇女节 | 三八节 | 女神节 | 国际妇女节 | 三八 = Women's Day
情人节 | 西方情人节 | 情人節 = Valentine's Day
植树节 = Chinese Arbor Day
愚人节 = April Fools Day
清明节 | 清明 | 清明節 = Qingming
复活节 | 复活节那天 | 復活節 = Easter
耶稣受难日 | 受难日 | 受难节 = Good Friday
劳动节 | 五一劳动节 | 五一 | 五一节 | 國際勞動節 | 国际劳动节 = May Day
青年节 | 五四青年节 | 五四 = Chinese Youth Day
母亲节 | 母亲节那天 | 母親節 = Mother's Day
网络情人节 | 五二零 = Internet Valentine Day
儿童节 | 六一 | 六一儿童节 | 国际儿童节 | 六一节 = Children's Day
端午节 | 端午 | 端阳节 | 龙舟节 | 端午節 = Dragon Boat Festival
父亲节 | 父親節 = Father's Day
建党节 | 七一 = Chinese Party Day
建军节 | 八一 | 八一建军节 = Chinese Army Day
七夕 | 七夕节 | 乞巧节 | 中国情人节 = Qixi
中元节 | 鬼节 = Ghost Festival
教师节 | 老师节 = Chinese Teachers Day
中秋节 | 中秋 | 八月十五 | 团圆节 | 月饼节 | 中秋節 = Mid-Autumn Festival
国庆节 | 国庆 | 十一国庆 | 十一国庆节 | 國慶節 | 国庆日 | 十一那天 = Chinese National Day
重阳节 | 重阳 | 老人节 = Chongyang
万圣节 | 万圣夜 | 万圣节前夜 | 万圣节晚上 | 萬聖節 = Halloween
光棍节 | 双十一 | 双11 = Singles Day
双十二 | 双12 = Double Twelve
感恩节 | 感恩節 = Thanksgiving
黑色星期五 | 黑五 = Black Friday
平安夜 | 圣诞前夜 | 圣诞夜 | 圣诞前夕 = Christmas Eve
圣诞节 | 圣诞 | 聖誕節 | 圣诞日 | 圣诞那天 = Christmas Day
节礼日 = Boxing Day
腊八节 | 腊八 = Laba Festival
小年 | 小年夜 = Little New Year
冬至 | 冬至节 | 冬至那天 = Dongzhi
夏至 = Summer Solstice
)";
}

}  // namespace quern::memory
