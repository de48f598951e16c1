"""What the shipped language classifier says of a few texts, computed with Python's Unicode data, whole numbers and floats
of 64 bits: nothing is shared with the library but the file of the model.

    python tools/oracles/corpus/languages.py quern/corpus/language/testdata/languages.json

Writes [{"text", "letters", "language", "probability"}]: letters as the model's n-grams see them.
"""

import json
import math
import pathlib
import struct
import sys
import unicodedata

SALTS = [0, 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD]
# Our own sentences.
TEXTS = [
    "The miller opened the gate before sunrise, and by noon three hundred sacks of flour stood in the yard.",
    "Der Müller öffnete das Tor vor Sonnenaufgang, und am Mittag standen dreihundert Säcke Mehl im Hof.",
    "Le meunier ouvrit la porte avant l'aube, et à midi trois cents sacs de farine attendaient dans la cour.",
    "El molinero abrió la puerta antes del amanecer y a mediodía había trescientos sacos de harina en el patio.",
    "Il mugnaio aprì il cancello prima dell'alba e a mezzogiorno nel cortile c'erano trecento sacchi di farina.",
    "Mlynář otevřel bránu před východem slunce a v poledne stálo na dvoře tři sta pytlů mouky.",
    "Мельник открыл ворота до рассвета, и к полудню во дворе стояло триста мешков муки.",
    "Ο μυλωνάς άνοιξε την πύλη πριν από την ανατολή και το μεσημέρι στην αυλή υπήρχαν τριακόσια σακιά αλεύρι.",
    "Mylnaren öppnade grinden före soluppgången, och vid middagstid stod tre hundra säckar mjöl på gården.",
    "粉挽きは夜明け前に門を開け、正午には三百袋の小麦粉が庭に並んでいた。",
    "방앗간 주인은 해가 뜨기 전에 문을 열었고 정오에는 밀가루 삼백 자루가 마당에 서 있었다.",
    "日出之前磨坊主就打开了大门，到了中午，院子里已经堆放着三百袋面粉。",
    "चक्की वाले ने सूर्योदय से पहले फाटक खोला और दोपहर तक आँगन में आटे की तीन सौ बोरियाँ खड़ी थीं।",
    "فتح الطحان البوابة قبل شروق الشمس، وعند الظهر كانت في الفناء ثلاثمئة كيس من الدقيق.",
    "HELLO, hello; 123 — hello_world! 𝔘𝔫𝔦code ﬁ",
    "1234 5678 -- %% ??",
]


def letters_of(text):
    out = [" "]
    for c in text:
        # Alphabetic characters, marks and joiners; of other categories the texts above have none that count.
        word = unicodedata.category(c)[0] in "LM" or c in "\u200c\u200d"
        if ord(c) > 0xFFFF:
            out.append("\uffff")
        elif word:
            low = c.lower()
            out.append(low if len(low) == 1 else c)
        elif out[-1] != " ":
            out.append(" ")
    if out[-1] != " ":
        out.append(" ")
    return "".join(out) if len(out) > 1 else ""


def main(target):
    data = pathlib.Path("models/languages/languages.bin").read_bytes()
    _, header, rest = data.split(b"\n", 2)
    header = json.loads(header)
    shape, labels = header["shape"], header["labels"]
    width, rows = shape["width"], shape["width"] << shape["bits"]
    table = struct.unpack(f"{rows}b", rest[:rows])
    numbers = struct.unpack(f"<{len(labels) * (width + 1)}f", rest[rows:])
    weights, bias = numbers[: len(labels) * width], numbers[len(labels) * width :]
    out = []
    for text in TEXTS:
        letters = letters_of(text)
        sums, n = [0] * width, 0
        for order in shape["orders"]:
            for at in range(len(letters) - order + 1):
                window = 0  # the first symbol lowest, the last in the highest 16 bits
                for c in reversed(letters[at : at + order]):
                    window = window << 16 | ord(c)
                window <<= 64 - 16 * order
                bucket = (window * SALTS[order] & (1 << 64) - 1) >> (64 - shape["bits"])
                n += 1
                for k in range(width):
                    sums[k] += table[bucket * width + k]
        row = {"text": text, "letters": letters, "language": "und", "probability": 0}
        if letters:
            x = [s * header["scale"] / n for s in sums]
            z = [bias[i] + sum(weights[i * width + k] * x[k] for k in range(width)) for i in range(len(labels))]
            best = max(range(len(z)), key=z.__getitem__)
            row["language"] = labels[best]
            row["probability"] = round(1 / sum(math.exp(v - z[best]) for v in z), 6)
        out.append(row)
    pathlib.Path(target).write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
