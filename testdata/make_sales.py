"""Writes sales.csv: a year of made-up orders of a shop with three regions. The seed is fixed; run it again and
the file is the same.

    python3 testdata/make_sales.py > testdata/sales.csv
"""

import csv
import datetime
import math
import random
import sys

ROWS = 1000
REGIONS = {"North": 1.0, "South": 0.8, "West": 1.25}
CHANNELS = {"web": 0.6, "store": 0.3, "phone": 0.1}
PRODUCTS = [
    # name, category, list price, weight, peak month
    ("Espresso machine", "Kitchen", 349.00, 2, 12),
    ("Kettle", "Kitchen", 49.90, 6, 11),
    ("Chef's knife", "Kitchen", 79.00, 4, 12),
    ("Desk lamp", "Office", 39.50, 7, 10),
    ("Office chair", "Office", 219.00, 3, 9),
    ("Monitor arm", "Office", 89.90, 4, 9),
    ("Tent", "Outdoor", 279.00, 2, 6),
    ("Hiking boots", "Outdoor", 149.00, 4, 5),
    ("Water bottle", "Outdoor", 24.90, 9, 7),
    ("Board game", "Leisure", 44.00, 6, 12),
    ("Headphones", "Leisure", 129.00, 5, 11),
]


def season(month, peak):
    return 1 + 0.7 * math.cos((month - peak) / 12 * 2 * math.pi)


def main():
    rng = random.Random(20250101)
    start = datetime.date(2025, 1, 1)
    days = [start + datetime.timedelta(n) for n in range(365)]
    growth = {day: 1 + 0.35 * n / 365 for n, day in enumerate(days)}
    orders = sorted(rng.choices(days, [growth[d] * (1.3 if d.weekday() < 5 else 0.8) for d in days], k=ROWS))

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["order", "date", "region", "channel", "category", "product", "units", "unit_price", "discount", "revenue"])
    for number, day in enumerate(orders, 10001):
        weights = [w * season(day.month, peak) for _, _, _, w, peak in PRODUCTS]
        name, category, price, _, _ = rng.choices(PRODUCTS, weights)[0]
        region = rng.choices(list(REGIONS), list(REGIONS.values()))[0]
        channel = rng.choices(list(CHANNELS), list(CHANNELS.values()))[0]
        units = 1 + min(int(rng.expovariate(0.7 if price < 100 else 2)), 11)
        discount = rng.choices([0, 0.05, 0.1, 0.2], [70, 12, 12, 6])[0]
        # A few orders have no discount on record, as real files do.
        shown = "" if rng.random() < 0.02 else f"{discount:.2f}"
        revenue = round(units * price * (1 - discount), 2)
        out.writerow([number, day, region, channel, category, name, units, f"{price:.2f}", shown, f"{revenue:.2f}"])


main()
