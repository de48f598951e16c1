"""Draws docs/eprop.svg: cosines of the lower layer over the delay, and the steps it takes to learn.

    quern learn eprop cosine --seeds 32 --json > cosine.json
    quern learn eprop train --delay 6 --delay 12 --delay 20 --delay 40 --json > train.json
    python tools/plots/eprop.py cosine.json train.json docs/eprop.svg
"""
import json
import sys

COLOURS = {"bptt": "#555", "full": "#2767a5", "ablate-temporal": "#b3404f", "ablate-spatial": "#c8622a", "readout": "#999"}
W, H, LEFT, TOP, GAP = 250, 200, 44, 30, 74


def panel(out, x0, title, rows, most, marks, tick):
    """rows: {name: [(delay, value)]}; delays are spread evenly."""
    delays = sorted({d for points in rows.values() for d, _ in points})

    def at(delay, value):
        return x0 + (delays.index(delay) + 0.5) / len(delays) * W, TOP + H - value / most * H

    out.append(f'<text x="{x0}" y="{TOP - 14}" class="t">{title}</text>')
    for v in marks:
        y = at(delays[0], v)[1]
        out.append(f'<line x1="{x0}" x2="{x0 + W}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>'
                   f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{tick(v)}</text>')
    for d in delays:
        out.append(f'<text x="{at(d, 0)[0]:.1f}" y="{TOP + H + 16}" text-anchor="middle">{d}</text>')
    for name, points in rows.items():
        line = [at(*p) for p in sorted(points)]
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}" fill="none" '
                   f'stroke="{COLOURS[name]}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[name]}"/>' for x, y in line]


def main(cosine, train, target):
    cosine, train = json.load(open(cosine)), json.load(open(train))
    out = []
    rows = {r: [(int(d), c[r][0]) for d, c in cosine["delays"].items()] for r in ("full", "ablate-temporal", "ablate-spatial")}
    panel(out, LEFT, "lower layer: cosine to the gradient", rows, 1, [0, 0.2, 0.4, 0.6, 0.8, 1], lambda v: f"{v:.1f}")
    names = [r for r in COLOURS if all(r in by for by in train["delays"].values())]
    rows = {r: [(int(d), by[r]["mean_step"]) for d, by in train["delays"].items()] for r in names}
    most = train["steps"]
    panel(out, LEFT + W + GAP, f"steps to 90 % right ({most}: never)", rows, most, range(0, most + 1, most // 4), str)
    x = LEFT
    for name, colour in COLOURS.items():
        y = TOP + H + 40
        out.append(f'<line x1="{x}" x2="{x + 16}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/>'
                   f'<text x="{x + 21}" y="{y}">{name}</text>')
        x += 44 + 7 * len(name)
    width = LEFT + 2 * W + GAP + 14
    out.append(f'<text x="{width - 14}" y="{TOP + H + 40}" text-anchor="end">steps of delay</text>')
    style = "text{font:12px sans-serif;fill:#555}.t{font-weight:600}.g{stroke:#ddd}"
    open(target, "w").write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + H + 50}" role="img" '
        f'aria-label="cosines and learning of the rules by delay"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(out)}</svg>\n')


main(*sys.argv[1:])
