"""Draws docs/action-centric.svg: accuracy over rate, a line a loss.

    quern research action-centric curve --seeds 3 --json > digits.json
    python tools/plots/action_centric.py digits.json docs/action-centric.svg
"""
import json
import math
import sys

COLOURS = {"reconstruction": "#b3404f", "action": "#2767a5", "bottleneck": "#2f8a63"}
W, H, LEFT, TOP, MOST = 520, 260, 46, 14, 28


def least_bits(accuracy, k=10):
    e = 1 - accuracy
    return math.log2(k) - e * math.log2(k - 1) + sum(x * math.log2(x) for x in (e, accuracy) if x > 0)


def main(source, target):
    data = json.load(open(source))

    def at(bits, accuracy):
        return LEFT + bits / MOST * W, TOP + H - accuracy * H

    out = []
    for i in range(6):
        y = at(0, i / 5)[1]
        out.append(f'<line x1="{LEFT}" x2="{LEFT + W}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i / 5:.1f}</text>')
    for bits in range(0, MOST + 1, 4):
        out.append(f'<text x="{at(bits, 0)[0]:.1f}" y="{TOP + H + 16}" text-anchor="middle">{bits}</text>')
    floor = " ".join("{:.1f},{:.1f}".format(*at(least_bits(a / 100), a / 100)) for a in range(10, 101))
    out.append(f'<polyline points="{floor}" fill="none" stroke="#999" stroke-dasharray="4 3"/>')
    for loss, colour in COLOURS.items():
        rows = sorted((r["bits"], r["accuracy"]) for r in data[loss].values())
        points = [at(*r) for r in rows]
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{colour}" '
                   'stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    names = list(COLOURS.items()) + [("least for ten answers", "#999")]
    x = LEFT
    for name, colour in names:
        out.append(f'<line x1="{x}" x2="{x + 16}" y1="{TOP + H + 36}" y2="{TOP + H + 36}" stroke="{colour}" stroke-width="3"/>'
                   f'<text x="{x + 21}" y="{TOP + H + 40}">{name}</text>')
        x += 40 + 7 * len(name)
    out.append(f'<text x="{LEFT + W}" y="{TOP + H + 40}" text-anchor="end">bits</text>')
    style = "text{font:12px sans-serif;fill:#555}.g{stroke:#ddd}"
    open(target, "w").write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + W + 14} {TOP + H + 50}" role="img" '
        f'aria-label="accuracy of the query by rate of the code"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(out)}</svg>\n')


main(*sys.argv[1:])
