"""Trains what tells kinds of facts, or of events, apart (quern/memory/kinds/telling_kinds.h) from tellings.

    python3 tools/memory/telling_kinds.py tools/memory/fact_tellings.txt models/tellings/facts.txt [--check]
    python3 tools/memory/telling_kinds.py tools/memory/event_tellings.txt models/tellings/events.txt --smallest 8 [--check]

For every kind a logistic regression over words and pairs of words; of facts one more tells statements from wishes, questions
and other people's, and one the end of a thing from its beginning. Gradient steps in a fixed order: the same file every time.
--check also prints how well it does on tellings left out.
"""
import argparse, re, sys
from pathlib import Path
import numpy as np

STATEMENT, ENDED = 'statement', 'ended'
STEPS, RATE, RIDGE = 150, 0.1, 5e-4
OF_KIND, OF_LEXICON = 4.0, 0.25  # weights of the rows of a kind, and of entries of a lexicon
LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'  # of outputs


def stem(w):
    if w.endswith("'s"): w = w[:-2]
    if len(w) > 5 and w.endswith('ing'): w = w[:-3]
    elif len(w) > 4 and w.endswith('ed'): w = w[:-2]
    elif len(w) > 4 and w.endswith('es'): w = w[:-2]
    elif len(w) > 3 and w.endswith('s') and not w.endswith('ss'): w = w[:-1]
    if len(w) > 3 and w.endswith('e'): w = w[:-1]
    if len(w) > 3 and w[-1] == w[-2] and w[-1] in 'bdgmnprt': w = w[:-1]
    if len(w) > 3 and w.endswith('i'): w = w[:-1] + 'y'
    return w


def features(text):
    text = text.lower().replace('’', "'")
    out = {}
    words = []
    for w in re.findall(r"[a-z0-9@][a-z0-9'@.:-]*[a-z0-9@]|[a-z0-9@]|\?", text):
        if '@' in w: w = '<mail>'
        elif sum(c.isdigit() for c in w) >= 4: w = '<digits>'
        elif w[0].isdigit(): w = '<number>'
        else: w = stem(w)
        words.append(w)
    if text.rstrip().endswith('?'): words.append('?$')
    for a in words: out[a] = 1.0
    for a, b in zip(['^'] + words, words + ['$']): out[a + ' ' + b] = 0.7
    return out


def read(path):
    rows, lexicon, phrases = [], [], {}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith('#'): continue
        if m := re.match(r'(\w+) ([+0-]) (.*)', line): rows.append(m.groups())
        elif m := re.match(r'(\w+) \? (.*)', line): phrases.setdefault(m[1], []).extend(w.strip() for w in m[2].split(','))
        elif m := re.match(r'(\w+) = (.*)', line): lexicon += [(m[1], w.strip()) for w in m[2].split(',')]
        else: sys.exit(f'{path}: not understood: {line}')
    return rows, lexicon, phrases


class Rows:
    """Texts as their features; a text's own follow each other."""
    def __init__(self, found, index):
        self.n, self.rows = len(index), len(found)
        self.col = np.array([index[k] for f in found for k in f if k in index])
        self.val = np.array([v for f in found for k, v in f.items() if k in index])
        self.row = np.array([i for i, f in enumerate(found) for k in f if k in index])

    def times(self, w):  # [features, classes]
        return np.stack([np.bincount(self.row, self.val * w[self.col, c], self.rows) for c in range(w.shape[1])], 1)

    def back(self, d):
        return np.stack([np.bincount(self.col, self.val * d[self.row, c], self.n) for c in range(d.shape[1])], 1)


def fit(x, y, weight):  # [texts, classes]
    w, b = np.zeros((x.n, y.shape[1])), np.zeros(y.shape[1])
    m, v, mb, vb = np.zeros_like(w), np.zeros_like(w), np.zeros_like(b), np.zeros_like(b)
    weight = weight / weight.sum(0)
    for t in range(1, STEPS + 1):
        d = weight * (1 / (1 + np.exp(-(x.times(w) + b))) - y)
        g, gb = x.back(d) + RIDGE * w, d.sum(0)
        m, v, mb, vb = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g, 0.9 * mb + 0.1 * gb, 0.99 * vb + 0.01 * gb * gb
        rate = RATE * min(1, 2 * (1 - t / (STEPS + 1)))
        w -= rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        b -= rate * (mb / (1 - 0.9**t)) / (np.sqrt(vb / (1 - 0.99**t)) + 1e-8)
    return w, b


def main():
    a = argparse.ArgumentParser(); a.add_argument('tellings', type=Path); a.add_argument('out', type=Path); a.add_argument('--check', action='store_true')
    a.add_argument('--smallest', type=int, default=3, help='of 127: weights below it are left out')
    a = a.parse_args()
    rows, lexicon, phrases = read(a.tellings)
    texts = [t for _, _, t in rows] + [w for _, w in lexicon]
    kind = np.array([k for k, _, _ in rows] + [k for k, _ in lexicon]); sign = np.array([s for _, s, _ in rows] + ['='] * len(lexicon))
    kinds = sorted({k for k in kind if k != 'none'})
    more = [STATEMENT, ENDED] if '-' in sign else []
    feats = [features(t) for t in texts]
    for f, s in zip(feats, sign):  # a lexicon's entry has no beginning and end
        if s == '=':
            for k in [k for k in f if k.startswith('^ ') or k.endswith(' $')]: del f[k]
    count = {}
    for f in feats:
        for k in f: count[k] = count.get(k, 0) + 1
    names = sorted(k for k in count if count[k] >= 2 or (' ' not in k))
    index = {k: i for i, k in enumerate(names)}
    x = Rows(feats, index)
    told = sign != '='

    def train(use):
        y = [kind == k for k in kinds] + [sign == '+', sign == '-'][:len(more)]
        weight = [np.where(told, 1.0, OF_LEXICON) * use * np.where(kind == k, OF_KIND, 1.0) for k in kinds]
        weight += [w for _, w in zip(more, [told * use * 1.0, ((sign == '+') | (sign == '-')) * use * np.where(sign == '-', 2.0, 1.0)])]
        return fit(x, np.array(y, float).T, np.array(weight).T)

    if a.check:
        fold = np.arange(len(texts)) % 5
        score = np.zeros((len(texts), len(kinds) + len(more)))
        for f in range(5):
            model = train((fold != f) | ~told)
            score[fold == f] = (x.times(model[0]) + model[1])[fold == f]
        right = told & (kind != 'none')
        best = np.array(kinds)[score[:, :len(kinds)].argmax(1)]
        print('kind, of tellings left out:', f'{(best == kind)[right].mean():.3f}')
        print('none above 0:', f'{(score[told & (kind == "none"), :len(kinds)].max(1) > 0).mean():.3f}')
        if more:
            s = score[:, -2]
            print('statement or not:', f'{((s > 0) == (sign == "+"))[told].mean():.3f}', 'of one that is, said so', f'{(s > 0)[sign == "+"].mean():.3f}')
            e = (sign == '+') | (sign == '-')
            print('ended or not:', f'{((score[:, -1] > 0) == (sign == "-"))[e].mean():.3f}', f'{(score[:, -1] > 0)[sign == "-"].mean():.3f}')
    w, b = train(np.ones(len(texts)))
    scale = np.abs(w).max() / 127
    q = np.rint(w / scale).astype(int)
    q[np.abs(q) < a.smallest] = 0
    keep = [i for i in range(len(names)) if q[i].any()]
    lines = ['quern-telling-kinds-2', ' '.join(kinds + more), *[','.join(phrases.get(k, [])) for k in kinds + more], f'{scale:.9g} {len(keep)}',
             ' '.join(f'{v:.6g}' for v in b)]
    lines += [names[i] + '\t' + ''.join(f'{LETTERS[c]}{v}' for c, v in enumerate(q[i]) if v) for i in keep]
    a.out.parent.mkdir(parents=True, exist_ok=True)
    a.out.write_text('\n'.join(lines) + '\n')
    print(f'{a.out}: {len(keep)} features, {a.out.stat().st_size} bytes')


if __name__ == '__main__': main()
