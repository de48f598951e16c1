"""Wall clocks of several zones around their clock changes, by Python's zoneinfo: the golden of zone_test.

usage: python tools/oracles/memory/zones.py > tests/memory/zones.txt
Each line: zone, seconds UTC, offset there. Then lines `local zone seconds utc`: what a wall clock reading means.
"""
import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES = ["Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata",
         "Africa/Casablanca", "Europe/Dublin", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tokyo"]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def seconds(t):
    return (t - EPOCH) // timedelta(seconds=1)


def main():
    rng = random.Random(7)
    for name in ZONES:
        zone = ZoneInfo(name)
        stamps = [rng.randrange(-1_000_000_000, 4_000_000_000) for _ in range(60)]
        t = seconds(datetime(2005, 1, 1, tzinfo=timezone.utc))
        last = None
        while t < seconds(datetime(2060, 1, 1, tzinfo=timezone.utc)):  # hours in which the clock changes
            offset = (EPOCH + timedelta(seconds=t)).astimezone(zone).utcoffset()
            if last is not None and offset != last and rng.random() < 0.3:
                stamps += [t - 3600, t - 1800, t - 1, t, t + 1]
            last = offset
            t += 3600
        for t in stamps:
            offset = (EPOCH + timedelta(seconds=t)).astimezone(zone).utcoffset()
            print("utc", name, t, int(offset.total_seconds()))
            wall = t + int(offset.total_seconds())
            naive = datetime(1970, 1, 1) + timedelta(seconds=wall)
            print("local", name, wall, seconds(naive.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)))


main()
