"""Goldens for quern/corpus/text: what ftfy makes of wrongly decoded lines, and of lines that are right.

    python tools/oracles/corpus/mojibake.py quern/corpus/text/testdata/mojibake.json

A row is [how, line, ftfy's line, the right line]; `how` is the encoding that took UTF-8 bytes for its own, `mixed` where only
a word of a right line is wrong, `twice`, or `right`. Only ftfy's repair of encodings and of C1 controls is on. Bytes that
an encoding does not define are C1 controls. Needs ftfy (6.3.1).
"""

import json
import sys

import ftfy

LINES = [
    "Der Müller mahlt schönes Mehl für die Bäckerei in Köln.",
    "Grüße aus Österreich: Über den Flüssen weht ein heißer Föhn.",
    "Le meunier a préféré la farine complète à l’ancienne.",
    "Où est passée la clé du garçon ? Elle était là, près du château.",
    "El niño comió piñones y bebió agua del río mañana y tarde.",
    "¿Cuántos años tiene el señor Núñez? ¡Qué sorpresa!",
    "A mó não pára: a água do açude move a roda às três da manhã.",
    "Não há pão sem moinho, disse a avó ao irmão.",
    "Perché il mulino è più veloce? Così è la città.",
    "Kvarnen står vid ån, och mjölnaren är på väg hem.",
    "Møllen på øen maler rug året rundt.",
    "Mylly jyskää yötä päivää järven äärellä.",
    "Młyn stoi nad rzeką, a żyto rośnie źle w cieniu dębów.",
    "Zażółć gęślą jaźń — tak ćwiczy się pisownię.",
    "Mlýn mele žito, řeka teče a kůň čeká u dveří.",
    "Mlynár kŕmi ťažného koňa každý deň, ľudia sa čudujú.",
    "A malom őrli a búzát, a folyó pedig zúgva hömpölyög; tűz ég.",
    "Moara macină grâu și orz; țăranii așteaptă în față.",
    "Değirmenci ışığı söndürdü, çünkü gün ağarıyordu.",
    "Malūnas prie upės, ąžuolas šalia, žmonės laukia.",
    "Dzirnavas griežas, ūdens šļakstās, kaķis guļ.",
    "Veski jahvatab öösel, jõgi on külm ja sügav.",
    "Мельница стоит у реки, и мука ещё тёплая.",
    "Привет! Сколько зерна вы привезли сегодня?",
    "Млин стоїть біля річки, а їжа вже є на столі.",
    "Воденицата се върти, а брашното е бяло.",
    "Ο μύλος γυρίζει και το αλεύρι είναι άσπρο.",
    "הטחנה עומדת ליד הנהר והקמח לבן.",
    "الطاحونة تقف بجانب النهر والدقيق أبيض.",
    "水车在河边转动，面粉是白的。",
    "粉屋は川のそばで夜明けまで小麦を挽く。",
    "물레방아가 강가에서 천천히 돌아간다.",
    "Cối xay đứng bên bờ sông, bột trắng như tuyết.",
    "Don’t worry — “it’s fine”, she said… and left.",
    "The mill’s price is £5 or €6 per sack, ±10 %.",
    "Temperature 21 °C, ½ a loaf, 3 × 4 µm, § 7, © 2001.",
    "Good morning 😀 and thanks 👍🏽 for the bread 🍞",
    "naïve café, résumé, fiancée, Zoë and Chloë",
    "• first point → second point ≥ third",
    "Þórður á Íslandi mælir æ meira af mjöli.",
    "चक्की नदी के किनारे खड़ी है और आटा सफेद है।",
    "โรงสีตั้งอยู่ริมแม่น้ำ",
]
RIGHT = [
    "PÅ SVENSKA SKRIVER MAN Å, Ä OCH Ö.",
    "“CAFÉ” is what the sign says; NESTLÉ’s is another.",
    "Voilà… c’est tout ce qu’il a avoué…»",
    "« É » et « À » sont des lettres ; É… aussi.",
    "„Spaß“, sagte er, „ohne Maß“.",
    "„Ä“ und „Ö“, ‚Ü‘ und „Straße“ …",
    "MAÇû é uma capa de revista, «MAÇû.",
    "É… talvez. NÃO! Ã é uma letra.",
    "Âge, Île, Âme: des mots avec un accent circonflexe.",
    "Ça coûte 5 €, ou 4,50 € à Orléans—c’est peu.",
    "2×½ = 1; 3×² is not written so; ×4",
    "FIANCÉE®, CAFÉ™, PÂTÉ© and SOUFFLÉ·",
    "Ich zahle 5 £ – nein, 6 ¥ – und 7 ¢.",
    "Übermut tut selten gut – „Ärger“ aber auch.",
    "l'été—l'automne—l'hiver à 10 ½ €",
    "“Émile”—“Étienne”—‘Édouard’…",
    "Ćwiczenie: ŁÓDŹ, ŻÓŁĆ, „ŹRÓDŁO”.",
    "„Łódź” – «Żółć» – ‘Ćma’…",
    "Příliš žluťoučký kůň úpěl „ďábelské“ ódy.",
    "«Ёж» и «Ель» — это №1 и №2…",
    "«СІРІ» гуси, ЇЖАК, Є, «Ґанок»…",
    "ЈА СЕ ЗОВЕМ ЂОРЂЕ, ЉУБИЦА И ЊЕГОШ.",
    "«Ααβ» και «Ωμέγα»… ΆΡΑ;",
    "°C, °F, 20°–30°, 5′ 6″, №5, ¶ 3, § 4",
    "a ≤ b, √2 ≈ 1.41, ∑ x² ± ½, ∂f/∂x, ¬p ∧ q",
    "√α + √β ≠ √(α+β), ∆x·∆p ≥ ħ/2",
    "├── src\n│   └── main.c\n└── docs",
    "┌─┐ │é│ └─┘ ▀▄█ ░▒▓",
    "(╯°□°)╯︵ ┻━┻ and ¯\\_(ツ)_/¯ and ಠ_ಠ",
    "日本語の「文章」…です。（これも）",
    "中文“引号”——破折号……省略",
    "한국어 “따옴표” — 그리고…",
    "Tiếng Việt: “Được”—Ừ, Ơ… Ỷ",
    "Işık, İstanbul, ŞEKER, Ğ; “Çünkü”…",
    "ŠKODA™, ŽIŽKA®, ČEŠTINA…",
    "He said “¿Qué?” and “¡No!” – ‘¡Sí!’",
    "Ñandú, ÑAME, «Ñ»… y PIÑA®",
    "Ø100 mm, Ø½″, ø, Æ, «Ærlig»",
    "ﬁne ﬂour, œuvre, Œuvre, CŒUR, Nœud",
    "Plain ASCII stays as it is: x < y && y > z; ~/bin",
]
ENCODINGS = {
    "windows-1252": "cp1252",
    "latin-1": "latin-1",
    "windows-1251": "cp1251",
    "windows-1250": "cp1250",
    "macroman": "mac_roman",
    "cp437": "cp437",
}


def misread(text, encoding):
    out = []
    for byte in text.encode("utf-8"):
        try:
            out.append(bytes([byte]).decode(encoding))
        except UnicodeDecodeError:
            out.append(chr(byte))
    return "".join(out)


def ftfys(line):
    return ftfy.fix_encoding(line, fix_c1_controls=True)


def main(path):
    rows = []
    for name, codec in ENCODINGS.items():
        for i, line in enumerate(LINES):
            if codec in ("cp1252", "latin-1") or (i + len(name)) % 2 == 0:
                rows.append([name, misread(line, codec), line])
    for i, line in enumerate(LINES):
        words = line.split(" ")
        odd = [k for k, w in enumerate(words) if not w.isascii()]
        if len(odd) > 1:
            k = odd[i % len(odd)]
            rows.append(["mixed", " ".join(misread(w, "cp1252") if n == k else w for n, w in enumerate(words)), line])
        if i % 3 == 0:
            rows.append(["twice", misread(misread(line, "cp1252"), "cp1252"), line])
    rows += [["right", line, line] for line in LINES + RIGHT]
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n")
        f.write(",\n".join(json.dumps([how, line, ftfys(line), right]) for how, line, right in rows))
        f.write("\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
