/* The commands of TeX's mathematics that models write, by what they become in MathML. */
const pairsOf = s => Object.fromEntries(s.trim().split(/\s+/).map(x => { const i = x.indexOf(":"); return [x.slice(0, i), x.slice(i + 1)]; }));
const TEX_LETTERS = pairsOf(`alpha:α beta:β gamma:γ delta:δ epsilon:ϵ varepsilon:ε zeta:ζ eta:η theta:θ vartheta:ϑ iota:ι kappa:κ lambda:λ mu:μ nu:ν xi:ξ
  omicron:ο pi:π varpi:ϖ rho:ρ varrho:ϱ sigma:σ varsigma:ς tau:τ upsilon:υ phi:ϕ varphi:φ chi:χ psi:ψ omega:ω Gamma:Γ Delta:Δ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π
  Sigma:Σ Upsilon:Υ Phi:Φ Psi:Ψ Omega:Ω infty:∞ partial:∂ nabla:∇ hbar:ℏ ell:ℓ Re:ℜ Im:ℑ aleph:ℵ emptyset:∅ varnothing:∅ imath:ı jmath:ȷ wp:℘ top:⊤ bot:⊥
  angle:∠ triangle:△ square:□ Box:□ checkmark:✓ degree:° dagger:† ddagger:‡ ldots:… dots:… cdots:⋯ vdots:⋮ ddots:⋱ prime:′ backslash:\\ clubsuit:♣ heartsuit:♡ diamondsuit:♢ spadesuit:♠ complement:∁`);
const TEX_OPERATORS = pairsOf(`pm:± mp:∓ times:× div:÷ cdot:⋅ ast:∗ star:⋆ circ:∘ bullet:∙ oplus:⊕ ominus:⊖ otimes:⊗ odot:⊙ cap:∩ cup:∪ uplus:⊎ sqcap:⊓ sqcup:⊔ vee:∨ lor:∨ wedge:∧ land:∧
  setminus:∖ le:≤ leq:≤ ge:≥ geq:≥ ll:≪ gg:≫ ne:≠ neq:≠ equiv:≡ sim:∼ simeq:≃ approx:≈ cong:≅ propto:∝ prec:≺ succ:≻ preceq:⪯ succeq:⪰ subset:⊂ supset:⊃ subseteq:⊆ supseteq:⊇
  subsetneq:⊊ in:∈ ni:∋ notin:∉ mid:∣ nmid:∤ parallel:∥ perp:⊥ vdash:⊢ models:⊨ forall:∀ exists:∃ nexists:∄ neg:¬ lnot:¬ to:→ rightarrow:→ leftarrow:← gets:← leftrightarrow:↔
  Rightarrow:⇒ implies:⟹ Leftarrow:⇐ impliedby:⟸ Leftrightarrow:⇔ iff:⟺ longrightarrow:⟶ longleftarrow:⟵ Longrightarrow:⟹ mapsto:↦ longmapsto:⟼ hookrightarrow:↪ uparrow:↑ downarrow:↓
  updownarrow:↕ nearrow:↗ searrow:↘ leadsto:⇝ rightharpoonup:⇀ rightleftharpoons:⇌ therefore:∴ because:∵ lbrace:{ rbrace:} lbrack:[ rbrack:] langle:⟨ rangle:⟩ lfloor:⌊ rfloor:⌋ lceil:⌈
  rceil:⌉ vert:| lvert:| rvert:| Vert:‖ lVert:‖ rVert:‖ colon:: triangleq:≜ coloneqq:≔ doteq:≐ asymp:≍ bmod:mod wr:≀ diamond:⋄ lt:< gt:> approxeq:≊ leqslant:⩽ geqslant:⩾ lesssim:≲ gtrsim:≳ nleq:≰ ngeq:≱ triangleleft:◁ triangleright:▷ ltimes:⋉ rtimes:⋊ ll:≪`);
const TEX_LARGE = pairsOf("sum:∑ prod:∏ coprod:∐ bigcup:⋃ bigcap:⋂ bigoplus:⨁ bigotimes:⨂ bigvee:⋁ bigwedge:⋀ bigsqcup:⨆");
const TEX_INTEGRALS = pairsOf("int:∫ iint:∬ iiint:∭ oint:∮");
const TEX_FUNCTIONS = "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan log ln lg exp det dim ker deg gcd hom arg tr rank Pr sgn lcm erf".split(" ");
const TEX_LIMITS = ["lim", "limsup", "liminf", "max", "min", "sup", "inf", "argmax", "argmin"];
const TEX_ACCENTS = pairsOf("hat:^ widehat:^ bar:‾ overline:‾ tilde:~ widetilde:~ vec:→ overrightarrow:→ overleftarrow:← dot:˙ ddot:¨ dddot:⃛ check:ˇ breve:˘ acute:´ grave:` mathring:˚ overbrace:⏞");
const TEX_UNDER = pairsOf("underline:_ underbrace:⏟");
const TEX_SPACES = { ",": "0.167em", ":": "0.222em", ">": "0.222em", ";": "0.278em", "!": "-0.167em", " ": "0.28em", quad: "1em", qquad: "2em", thinspace: "0.167em", enspace: "0.5em", "\n": "0.28em" };
const TEX_STYLES = { mathbf: "bold", boldsymbol: "bold", bm: "bold", bf: "bold", mathbb: "double", mathcal: "script", mathscr: "script", mathfrak: "fraktur", mathrm: "normal", mathit: "italic", mathsf: "sans", mathtt: "mono", rm: "normal", operatorname: "name", textbf: "text", text: "text", textrm: "text", textit: "text", texttt: "text", mbox: "text", textsf: "text", textnormal: "text", emph: "text" };
// Characters of a style: where its capitals, small letters and digits begin in Unicode, and the letters that lie elsewhere.
const TEX_ALPHABETS = { bold: [0x1d400, 0x1d41a, 0x1d7ce], double: [0x1d538, 0x1d552, 0x1d7d8, { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" }],
  script: [0x1d49c, 0x1d4b6, 0, { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ", e: "ℯ", g: "ℊ", o: "ℴ" }],
  fraktur: [0x1d504, 0x1d51e, 0, { C: "ℭ", H: "ℌ", I: "ℑ", R: "ℜ", Z: "ℨ" }], sans: [0x1d5a0, 0x1d5ba, 0x1d7e2], mono: [0x1d670, 0x1d68a, 0x1d7f6] };
const TEX_BOLD_GREEK = { "Α": 0x1d6a8, "α": 0x1d6c2 };

function styled(text, style) {
  const [capital, small, digit, others = {}] = TEX_ALPHABETS[style] || [];
  if (capital === undefined) return text;
  return [...text].map(c => {
    if (others[c]) return others[c];
    const code = c.codePointAt(0);
    if (/[A-Z]/.test(c)) return String.fromCodePoint(capital + code - 65);
    if (/[a-z]/.test(c)) return String.fromCodePoint(small + code - 97);
    if (/\d/.test(c) && digit) return String.fromCodePoint(digit + code - 48);
    if (style === "bold" && code >= 0x391 && code <= 0x3a9) return String.fromCodePoint(TEX_BOLD_GREEK["Α"] + code - 0x391);
    if (style === "bold" && code >= 0x3b1 && code <= 0x3c9) return String.fromCodePoint(TEX_BOLD_GREEK["α"] + code - 0x3b1);
    return c;
  }).join("");
}
