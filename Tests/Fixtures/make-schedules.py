#!/usr/bin/env python3
"""Writes what the tests of schedules are compared with, from implementations that are not ours.

offsets.txt   zone, Unix second, offset: by Python's zoneinfo, from the files in zoneinfo/
cron.txt      expression, Unix second, the next second in UTC: by croniter (pip install croniter)

The zone files are copies of Debian's tzdata, which is in the public domain. They are kept here so
that neither a newer tzdata nor its absence changes what the tests say.
"""
import pathlib
import random
import shutil
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

ZONES = [
    "Africa/Casablanca", "America/New_York", "America/Sao_Paulo", "America/St_Johns",
    "Antarctica/Troll", "Asia/Kathmandu", "Asia/Tehran", "Australia/Lord_Howe", "Europe/Berlin",
    "Europe/Dublin", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "UTC",
]
here = pathlib.Path(__file__).parent
dice = random.Random(20261121)


def offsets():
    (here / "zoneinfo").mkdir(exist_ok=True)
    with open(here / "offsets.txt", "w") as out:
        for name in ZONES:
            copy = here / "zoneinfo" / name.replace("/", "-")
            if not copy.exists():
                shutil.copy(f"/usr/share/zoneinfo/{name}", copy)
            with open(copy, "rb") as file:
                zone = ZoneInfo.from_file(file, key=name)

            def offset(moment):
                at = datetime.fromtimestamp(moment, timezone.utc).astimezone(zone)
                return int(at.utcoffset().total_seconds())

            moments = {dice.randrange(-5_000_000_000, 8_000_000_000) for _ in range(60)}
            # Just before, at and just after changes, which are looked for by halving.
            day = 86_400
            changes = []
            for start in range(-3_000_000_000, 6_000_000_000, 7 * day):
                if offset(start) != offset(start + 7 * day):
                    low, high = start, start + 7 * day
                    while high - low > 1:
                        middle = (low + high) // 2
                        if offset(middle) == offset(low):
                            low = middle
                        else:
                            high = middle
                    changes.append(high)
            for change in dice.sample(changes, min(25, len(changes))):
                moments |= {change - 1, change, change + 1}
            for moment in sorted(moments):
                print(name, moment, offset(moment), file=out)


def field(low, high, names=()):
    def number():
        value = dice.randint(low, high)
        return dice.choice([str(value), names[value - low]]) if names else str(value)

    def part():
        kind = dice.randrange(4)
        if kind == 0:
            # croniter takes 5-5 for the whole range, cron for 5.
            a, b = sorted(dice.sample(range(low, high + 1), 2))
            return f"{a}-{b}" + (f"/{dice.randint(1, 7)}" if dice.random() < 0.5 else "")
        return number()

    return ",".join(part() for _ in range(dice.choice([1, 1, 1, 2, 3])))


def cron():
    from croniter import croniter

    months = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
    days = "SUN MON TUE WED THU FRI SAT".split()
    lines = 0
    with open(here / "cron.txt", "w") as out:
        while lines < 400:
            fields = [
                dice.choice(["*", "*/7", field(0, 59)]), dice.choice(["*", "*/5", field(0, 23)]),
                dice.choice(["*", "*", field(1, 31)]), dice.choice(["*", field(1, 12, months)]),
                dice.choice(["*", "*", field(0, 6, days)]),
            ]
            expression = " ".join(fields)
            start = dice.randrange(0, 4_000_000_000)
            try:
                walk = croniter(expression, start)
                found = [int(walk.get_next(float)) for _ in range(3)]
            except Exception as error:  # never due within croniter's horizon
                print(expression, error, file=sys.stderr)
                continue
            print(expression, start, *found, sep="|", file=out)
            lines += 1


offsets()
cron()
