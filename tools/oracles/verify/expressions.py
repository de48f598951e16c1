"""Pairs of expressions that sympy calls equal or different: the golden of math_verifier_test.

usage: python tools/oracles/verify/expressions.py quern/verify/testdata/expressions.tsv
Each line: EQUAL or DIFFERENT, then two expressions, parted by tabs; half of the second ones are LaTeX. Symbols are real.
Equal pairs are rewritten by sympy (expand, factor, apart, trigsimp, radsimp, …) and checked by simplify(a - b) == 0;
different ones have another value at a random rational point, with 60 digits.
"""
import pathlib
import random
import sys

import sympy as sp

x, y, z = sp.symbols("x y z", real=True)
RNG = random.Random(7)


def number():
    return sp.Rational(RNG.randint(-9, 9), RNG.choice([1, 1, 2, 3, 5]))


def polynomial():
    return sum(number() * x ** RNG.randint(0, 3) * y ** RNG.randint(0, 2) * z ** RNG.randint(0, 1) for _ in range(3))


def linear():
    return RNG.randint(1, 5) * RNG.choice([x, y, z]) + RNG.randint(-9, 9)


def radical():
    return sum(number() * sp.sqrt(RNG.choice([2, 3, 5, 6, 8, 12, 18, 50])) for _ in range(3)) + number()


def trigonometric():
    a = RNG.choice([x, 2 * x, x + y, x - y, 3 * x])
    f, g = RNG.choice([sp.sin, sp.cos]), RNG.choice([sp.sin, sp.cos])
    return f(a) ** RNG.randint(1, 2) * g(x) + RNG.randint(-3, 3) * sp.tan(x)


def families():
    yield "product", lambda: linear() * linear() * linear(), [sp.expand]
    yield "polynomial", lambda: sp.expand(polynomial() * linear()), [sp.factor, lambda e: sp.collect(sp.expand(e), x)]
    yield "rational", lambda: 1 / (x - RNG.randint(1, 9)) + linear() / (x + RNG.randint(1, 9)), [sp.together, sp.cancel]
    yield "apart", lambda: (x + RNG.randint(1, 9)) / ((x - RNG.randint(1, 4)) * (x + RNG.randint(5, 9))), [lambda e: sp.apart(e, x)]
    yield "radical", lambda: 1 / (radical() + 20), [sp.radsimp]
    yield "radicals", lambda: radical() * radical(), [sp.expand]
    yield "trigonometric", trigonometric, [sp.expand_trig, lambda e: sp.expand(e.rewrite(sp.tan), trig=True)]
    yield "exponential", lambda: sp.exp(linear()) * (sp.exp(x) + RNG.randint(1, 5)), [sp.expand]
    yield "logarithm", lambda: sp.log((x**2 + RNG.randint(1, 9)) * sp.exp(RNG.randint(1, 4))), [lambda e: sp.expand_log(e, force=True)]
    yield "constants", lambda: sp.pi * number() + sp.E * radical(), [sp.expand, sp.factor]
    yield "complex", lambda: (RNG.randint(1, 5) + RNG.randint(1, 5) * sp.I) ** RNG.randint(2, 4) / (1 + sp.I), [sp.expand, lambda e: sp.expand(sp.simplify(e))]


def differs(a, b):
    for _ in range(20):
        point = {s: sp.Rational(RNG.randint(1, 99), 100) for s in (x, y, z)}
        gap = abs(sp.N((a - b).subs(point), 60))
        if gap.is_finite and gap > sp.Float("1e-6"):
            return True
    return False


def latex(e):
    return sp.latex(e, ln_notation=True, mul_symbol=RNG.choice([None, "dot"])).replace("\n", " ")


def plain(e):
    return sp.sstr(e).replace("I", "i").replace("E", "e") if e.has(sp.I, sp.E) else sp.sstr(e)


def main(path):
    lines = []
    for name, make, rewrites in families():
        equal = different = 0
        for _ in range(2000):
            if equal >= 15 and different >= 15:
                break
            a = make()
            b = RNG.choice(rewrites)(a)
            if equal < 15 and a != b and len(sp.sstr(b)) < 200 and sp.simplify(a - b) == 0:
                lines.append(("EQUAL", a, b))
                equal += 1
            c = RNG.choice(rewrites)(make() if RNG.random() < 0.3 else a + RNG.choice([1, -1]) * sp.Rational(1, RNG.randint(1, 50)))
            if different < 15 and len(sp.sstr(c)) < 200 and differs(a, c):
                lines.append(("DIFFERENT", a, c))
                different += 1
        print(name, equal, different)
    out = pathlib.Path(path)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{v}\t{plain(a)}\t{latex(b) if RNG.random() < 0.5 else plain(b)}\n" for v, a, b in lines))


if __name__ == "__main__":
    main(sys.argv[1])
