"""Trains what tells kinds of facts, or of events, apart (quern/memory/kinds/telling_kinds.h) from tellings.

    python3 tools/memory/telling_kinds.py QUERN tools/memory/fact_tellings.txt models/tellings/facts.txt [--check]
    python3 tools/memory/telling_kinds.py QUERN tools/memory/event_tellings.txt models/tellings/events.txt [--check]

For every kind a logistic regression over words, pairs of words and the vector that `quern embed words` gives a text; of facts
one more tells statements from wishes, questions and other people's, and one the end of a thing from its beginning. Gradient
steps in a fixed order: the same file every time. --check also prints how well it does on tellings left out.
"""
import argparse, json, re, subprocess, sys
from pathlib import Path
import numpy as np

STATEMENT, ENDED = 'statement', 'ended'
STEPS, RATE, DECAY, VECTOR = 120, 0.05, 3e-3, 3.0


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
        elif m := re.match(r'(\w+) \? (.*)', line): phrases[m[1]] = [w.strip() for w in m[2].split(',')]
        elif m := re.match(r'(\w+) = (.*)', line): lexicon += [(m[1], w.strip()) for w in m[2].split(',')]
        else: sys.exit(f'{path}: not understood: {line}')
    return rows, lexicon, phrases


def vectors(quern, texts):
    r = subprocess.run([quern, 'embed', 'words'], input='\n'.join(texts) + '\n', capture_output=True, text=True, check=True)
    return np.array([json.loads(l) for l in r.stdout.splitlines()])


class Rows:
    """Texts as their features (a text's own follow each other) and their vectors."""
    def __init__(self, found, index, vec):
        self.vec, self.n = vec, len(index)
        self.col = np.array([index[k] for f in found for k in f if k in index])
        self.val = np.array([v for f in found for k, v in f.items() if k in index])
        self.row = np.array([i for i, f in enumerate(found) for k in f if k in index])

    def times(self, w):  # [features + width, classes]
        out = self.vec @ w[self.n:]
        for c in range(w.shape[1]): out[:, c] += np.bincount(self.row, self.val * w[self.col, c], len(out))
        return out

    def back(self, d):
        out = np.empty((self.n + self.vec.shape[1], d.shape[1]))
        for c in range(d.shape[1]): out[:self.n, c] = np.bincount(self.col, self.val * d[self.row, c], self.n)
        out[self.n:] = self.vec.T @ d
        return out


def fit(x, y, weight):  # [texts, classes]
    w, b = np.zeros((x.n + x.vec.shape[1], y.shape[1])), np.zeros(y.shape[1])
    m, v, mb, vb = np.zeros_like(w), np.zeros_like(w), np.zeros_like(b), np.zeros_like(b)
    weight = weight / weight.sum(0)
    for t in range(1, STEPS + 1):
        d = weight * (1 / (1 + np.exp(-(x.times(w) + b))) - y)
        g, gb = x.back(d) + DECAY / 10 * w, d.sum(0)
        m, v, mb, vb = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g, 0.9 * mb + 0.1 * gb, 0.99 * vb + 0.01 * gb * gb
        w -= RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        b -= RATE * (mb / (1 - 0.9**t)) / (np.sqrt(vb / (1 - 0.99**t)) + 1e-8)
    return w, b


def main():
    a = argparse.ArgumentParser(); a.add_argument('quern'); a.add_argument('tellings', type=Path); a.add_argument('out', type=Path); a.add_argument('--check', action='store_true')
    a = a.parse_args()
    rows, lexicon, phrases = read(a.tellings)
    texts = [t for _, _, t in rows] + [w for _, w in lexicon]
    kind = np.array([k for k, _, _ in rows] + [k for k, _ in lexicon]); sign = np.array([s for _, s, _ in rows] + ['='] * len(lexicon))
    kinds = sorted({k for k in kind if k != 'none'})
    more = [STATEMENT, ENDED] if '-' in sign else []
    vec = vectors(a.quern, texts) * VECTOR
    feats = [features(t) for t in texts]
    for f, s in zip(feats, sign):  # a lexicon's entry has no beginning and end
        if s == '=':
            for k in [k for k in f if k.startswith('^ ') or k.endswith(' $')]: del f[k]
    count = {}
    for f in feats:
        for k in f: count[k] = count.get(k, 0) + 1
    names = sorted(k for k in count if count[k] >= 2 or (' ' not in k))
    index = {k: i for i, k in enumerate(names)}
    x = Rows(feats, index, vec)
    told = sign != '='

    def train(use):
        y = [kind == k for k in kinds] + [sign == '+', sign == '-'][:len(more)]
        weight = [np.where(told, 1.0, 0.5) * use * np.where(kind == k, 4.0, 1.0) for k in kinds]
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
    model = train(np.ones(len(texts)))
    w, b = model
    scale = np.abs(w).max() / 127
    q = np.rint(w / scale).astype(int)
    keep = [i for i in range(len(names)) if np.abs(q[i]).max() >= 2]
    lines = ['quern-telling-kinds-1', ' '.join(kinds + more), *[','.join(phrases.get(k, [])) for k in kinds + more], f'{scale:.9g} {VECTOR} {vec.shape[1]} {len(keep)}',
             ' '.join(f'{v:.6g}' for v in b)]
    lines += [' '.join(map(str, q[len(names) + i])) for i in range(vec.shape[1])]
    lines += [names[i] + '\t' + ' '.join(map(str, q[i])) for i in keep]
    a.out.parent.mkdir(parents=True, exist_ok=True)
    a.out.write_text('\n'.join(lines) + '\n')
    print(f'{a.out}: {len(keep)} features, {a.out.stat().st_size} bytes')


if __name__ == '__main__': main()
