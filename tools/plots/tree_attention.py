"""Draws docs/tree-attention.svg from the modelled networks.

    quern bench tree --network --json > network.json
    python tools/plots/tree_attention.py network.json docs/tree-attention.svg
"""
import json
import math
import sys

COLOURS = {"ring_kv_us": "#b3404f", "ring_us": "#c8622a", "butterfly_us": "#2767a5", "two_level_us": "#2f8a63"}
NAMES = {"ring_kv_us": "keys and values round a ring", "ring_us": "records round a ring",
         "butterfly_us": "butterfly", "two_level_us": "two levels"}
PANELS = {"one_level": "one node", "contiguous": "nodes of 8, in order", "random": "nodes of 8, ranks at random"}
W, H, LEFT, TOP, GAP = 250, 230, 56, 34, 26
LOW, HIGH = 2, 7  # powers of ten of microseconds


def main(source, target):
    rows = json.load(open(source))
    ranks = sorted(map(int, rows))
    first, last = math.log2(ranks[0]), math.log2(ranks[-1])
    out = []
    for i, (key, title) in enumerate(PANELS.items()):
        x0 = LEFT + i * (W + GAP)

        def at(p, us):
            return (x0 + (math.log2(p) - first) / (last - first) * W,
                    TOP + H - (math.log10(us) - LOW) / (HIGH - LOW) * H)

        out.append(f'<text x="{x0}" y="{TOP - 12}" class="t">{title}</text>')
        for e in range(LOW, HIGH + 1):
            y = TOP + H - (e - LOW) / (HIGH - LOW) * H
            out.append(f'<line x1="{x0}" x2="{x0 + W}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>')
            if i == 0:
                name = {2: "100 µs", 3: "1 ms", 4: "10 ms", 5: "100 ms", 6: "1 s", 7: "10 s"}[e]
                out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
        for p in ranks[::2] if len(ranks) > 6 else ranks:
            out.append(f'<text x="{at(p, 1e3)[0]:.1f}" y="{TOP + H + 16}" text-anchor="middle">{p}</text>')
        for series, colour in COLOURS.items():
            points = " ".join("{:.1f},{:.1f}".format(*at(p, rows[str(p)][key][series])) for p in ranks)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    width = LEFT + 3 * W + 2 * GAP + 14
    for i, (series, name) in enumerate(NAMES.items()):
        x = LEFT + i * 205
        out.append(f'<line x1="{x}" x2="{x + 18}" y1="{TOP + H + 38}" y2="{TOP + H + 38}" stroke="{COLOURS[series]}" '
                   f'stroke-width="3"/><text x="{x + 24}" y="{TOP + H + 42}">{name}</text>')
    style = "text{font:12px sans-serif;fill:#555}.t{font-weight:600;fill:#333}.g{stroke:#ddd}"
    open(target, "w").write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + H + 52}" role="img" '
        'aria-label="modelled time of one decoded token by number of ranks">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(out)}</svg>\n')


main(*sys.argv[1:])
