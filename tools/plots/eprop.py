"""Draws docs/eprop.svg: cosines of the lower layer over the delay, of leaky and of spiking stacks.

    quern research eprop cosine --seeds 32 --json > leaky.json
    quern research eprop cosine --spiking --leak 0.3 --leak 0.1 --seeds 8 --batch 64 --json > spiking.json
    python tools/plots/eprop.py leaky.json spiking.json docs/eprop.svg
"""
import json
import sys

COLOURS = {"full": "#2767a5", "ablate-temporal": "#b3404f", "no-carry": "#8a7420", "ablate-spatial": "#999"}
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


def main(leaky, spiking, target):
    out = []
    for k, (name, file) in enumerate((("leaky tanh units", leaky), ("spiking units", spiking))):
        by_delay = json.load(open(file))["delays"]
        rows = {r: [(int(d), c[r][0]) for d, c in by_delay.items()] for r in COLOURS}
        panel(out, LEFT + k * (W + GAP), f"{name}: cosine, lower layer", rows, 1, [0, 0.2, 0.4, 0.6, 0.8, 1],
              lambda v: f"{v:.1f}")
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
        f'aria-label="cosines of the rules by delay"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(out)}</svg>\n')


main(*sys.argv[1:])
