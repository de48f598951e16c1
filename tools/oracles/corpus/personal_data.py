"""Golden for quern/corpus/pii: addresses, telephone, card and account numbers as other implementations judge them.

    python tools/oracles/corpus/personal_data.py quern/corpus/pii/testdata/personal_data.json

A row is [kind, text, the value that is to be found or null]. Telephone numbers are phonenumbers' examples of every region, in
international and E.164 form, and of some in national form; IBANs are random ones of the lengths and check digits that
python-stdnum gives, cards random ones with its Luhn digit, each also with a wrong digit; IP addresses are random ones and
those at the borders of special ranges, found when Python's ipaddress calls them global.
"""

import inspect
import ipaddress
import json
import random
import re
import sys

import phonenumbers
import stdnum
from phonenumbers import PhoneNumberFormat as Form
from phonenumbers import PhoneNumberType as Type
from stdnum import iban, luhn

NATIONAL = "US CA GB FR DE JP AU IT ES NL SE BR IN".split()
CARDS = [("4", 16), ("4", 13), ("34", 15), ("37", 15), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16), ("6011", 16),
         ("65", 16), ("36", 14), ("305", 14), ("3528", 16), ("62", 16)]  # fmt: skip
SPECIAL = """0.1.2.3 9.255.255.255 10.0.0.0 11.0.0.0 100.63.255.255 100.64.0.0 100.128.0.0 126.1.1.1 127.1.1.1 128.0.0.1
    169.253.1.1 169.254.1.1 172.15.0.1 172.16.0.1 172.31.9.9 172.32.0.1 192.0.0.5 192.0.1.1 192.0.2.7 192.167.1.1 192.168.1.1
    192.169.1.1 198.17.0.1 198.18.0.1 198.19.5.5 198.20.0.1 198.51.100.3 198.51.101.3 203.0.112.1 203.0.113.1 203.0.114.1
    223.1.1.1 240.0.0.1 255.255.255.255 1fff::1 2000::1 2001:100::1 2001:200::1 2001:db7::1 2001:db8::1 2001:db9::1
    2a00:1450:4001:81b::200e 2600:: fe80::1 fc00::1 fdff::1 ff02::1 3ffe::1 4000::1""".split()  # fmt: skip


def phones():
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in (Type.FIXED_LINE, Type.MOBILE):
            number = phonenumbers.example_number_for_type(region, kind)
            if number is None:
                continue
            for form in (Form.INTERNATIONAL, Form.E164):
                value = phonenumbers.format_number(number, form)
                yield "phone", f"Ask {region}: {value}, or write.", value
            if region in NATIONAL:
                value = phonenumbers.format_number(number, Form.NATIONAL)
                yield "phone", f"Tel. {value} (weekdays)", value


def ibans(rng):
    table = open(inspect.getfile(stdnum).replace("__init__.py", "iban.dat")).read()
    for country, bban in re.findall(r'^([A-Z]{2}) .*bban="(.*)"$', table, re.M):
        text = ""
        for n, kind in re.findall(r"(\d+)!([nac])", bban):
            letters = {"n": "0123456789", "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "c": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}[kind]
            text += "".join(rng.choice(letters) for _ in range(int(n)))
        value = country + iban.calc_check_digits(country + "00" + text) + text
        yield "iban", f"to {value}.", value
        yield "iban", f"to {iban.format(value)}, please", iban.format(value)
        wrong = value[:-1] + ("1" if value[-1] != "1" else "2")
        yield "iban", f"to {wrong}.", None


def cards(rng):
    for prefix, length in CARDS:
        body = prefix + "".join(rng.choice("0123456789") for _ in range(length - len(prefix) - 1))
        digit = luhn.calc_check_digit(body)
        value = body + digit
        yield "card", f"card {value}!", value
        if length == 16:
            fours = " ".join(value[k : k + 4] for k in range(0, 16, 4))
            yield "card", f"card {fours}!", fours
        yield "card", f"card {body}{(int(digit) + 1) % 10}!", None


def addresses(rng):
    random_ones = [str(ipaddress.IPv4Address(rng.getrandbits(32))) for _ in range(60)]
    random_ones += [str(ipaddress.IPv6Address((2 << 124) | rng.getrandbits(125))) for _ in range(30)]
    for text in random_ones + SPECIAL:
        ip = ipaddress.ip_address(text)
        public = ip.is_global and not ip.is_multicast and (ip.version == 4 or ip in ipaddress.ip_network("2000::/3"))
        yield f"ipv{ip.version}", f"from {text} to", text if public else None


def main(path):
    rng = random.Random(5)
    rows = [*phones(), *ibans(rng), *cards(rng), *addresses(rng)]
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
