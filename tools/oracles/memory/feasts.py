"""Days of holidays in thirty years, by the packages holidays and lunardate: the golden of holidays_test.

usage: python tools/oracles/memory/feasts.py > tests/memory/holidays.txt
Each line: date, then the name that the time grammar knows.
"""
from datetime import timedelta

import holidays
from lunardate import LunarDate

YEARS = range(2010, 2041)

# of a country or a part of it: the package's name, ours
NAMES = {
    ("US", None): {
        "New Year's Day": "new year's day", "Martin Luther King Jr. Day": "martin luther king day",
        "Washington's Birthday": "presidents' day", "Memorial Day": "memorial day",
        "Independence Day": "independence day", "Labor Day": "labor day", "Columbus Day": "columbus day",
        "Veterans Day": "veterans day", "Thanksgiving Day": "thanksgiving", "Christmas Day": "christmas"},
    ("GB", "ENG"): {
        "Good Friday": "good friday", "Easter Monday": "easter monday",
        "Late Summer Bank Holiday": "august bank holiday", "Boxing Day": "boxing day"},
    ("DE", "BY"): {
        "Epiphany": "epiphany", "Ascension Day": "ascension day", "Whit Monday": "whit monday",
        "Corpus Christi": "corpus christi", "German Unity Day": "unity day", "All Saints' Day": "all saints' day",
        "Labor Day": "may day"},
    ("DE", "SN"): {"Repentance and Prayer Day": "repentance day", "Reformation Day": "reformation day"},
    ("FR", None): {
        "Victory Day": "ve day", "National Day": "bastille day", "Assumption Day": "assumption day",
        "Armistice Day": "armistice day"},
    ("ES", None): {
        "National Day": "spanish national day", "Constitution Day": "spanish constitution day",
        "Immaculate Conception": "immaculate conception"},
    ("CA", None): {"Victoria Day": "victoria day", "Canada Day": "canada day"},
    ("CN", None): {"Tomb-Sweeping Day": "qingming", "Dragon Boat Festival": "dragon boat festival",
                   "Mid-Autumn Festival": "mid autumn festival"},
}
MOON = {(1, 1): "chinese new year", (1, 15): "lantern festival", (5, 5): "dragon boat festival", (7, 7): "qixi",
        (8, 15): "mid autumn festival", (9, 9): "double ninth"}


def main():
    lines = set()
    for (country, part), names in NAMES.items():
        days = holidays.country_holidays(country, subdiv=part, years=YEARS, observed=False, language="en_US")
        for day, said in days.items():
            for name in said.split("; "):
                if name in names:
                    lines.add((day.isoformat(), names[name]))
    for year in YEARS:
        for (month, day), name in MOON.items():
            lines.add((LunarDate(year, month, day).to_solar_date().isoformat(), name))
        eve = LunarDate(year, 1, 1).to_solar_date() - timedelta(days=1)
        lines.add((eve.isoformat(), "chinese new year eve"))
    for day, name in sorted(lines):
        print(day, name)


if __name__ == "__main__":
    main()
