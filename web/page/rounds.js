/* The grid of a thinking plan: a row per round, a cell per candidate, lines to those that the chosen one read. */
class Rounds {
  constructor(past = []) {
    this.cells = new Map();
    this.bar = make("summary", { textContent: "Thinking in rounds" });
    this.lines = svg("svg", { "aria-hidden": "true" });
    this.grid = make("div", { class: "grid", role: "group", "aria-label": "Candidates by round" }, this.lines);
    this.note = make("div", { class: "body plain", "aria-live": "polite" });
    this.box = make("details", { class: "fold rounds", open: true, ontoggle: () => this.draw() }, this.bar, this.grid, this.note);
    new ResizeObserver(() => this.draw()).observe(this.grid);
    for (const e of past) this.add(e);
  }
  add(e) {
    while (this.grid.querySelectorAll(".round").length <= e.round) {
      const r = this.grid.querySelectorAll(".round").length;
      this.grid.append(make("div", { class: "round" }, make("span", { class: "name", textContent: r ? "Round " + r : "First" })));
    }
    const cell = make("button", { class: "cell", type: "button", onclick: () => this.pick(e), onfocus: () => this.pick(e), onmouseenter: () => this.pick(e) },
      make("b", { textContent: e.answer || "no answer" }), make("small", { textContent: e.tokens + " tokens" }));
    cell.dataset.index = e.candidate;
    const row = this.grid.querySelectorAll(".round")[e.round];
    row.insertBefore(cell, [...row.querySelectorAll(".cell")].find(c => +c.dataset.index > e.candidate) || null);
    this.cells.set(e.round + "/" + e.candidate, { e, cell });
    this.bar.textContent = `Thinking in rounds: ${e.done} of ${e.all} candidates, ${Math.round(e.agreement * 100)} % agree, ${e.new_tokens} tokens`;
    const last = Math.max(...[...this.cells.values()].map(c => c.e.round)), count = {};
    for (const { e: x } of this.cells.values()) if (x.round === last && x.answer) count[x.answer] = (count[x.answer] || 0) + 1;
    const most = Object.entries(count).sort((a, b) => b[1] - a[1])[0];
    for (const { e: x, cell: c } of this.cells.values()) c.classList.toggle("most", !!most && most[1] > 1 && x.round === last && x.answer === most[0]);
    this.draw();
  }
  read(e) { return e.round ? [...new Set([...e.sources])].map(s => this.cells.get(e.round - 1 + "/" + s)).filter(Boolean) : []; }
  pick(e) {
    for (const { cell } of this.cells.values()) cell.classList.remove("on");
    for (const { cell } of this.read(e)) cell.classList.add("on");
    this.picked = e;
    this.note.textContent = `Candidate ${e.candidate + 1} of round ${e.round}: ${e.tokens} tokens, answer ${e.answer || "none"}.` +
      (e.round ? ` It read ${e.sources.map(s => s + 1).join(", ")} of the round before.` : "");
    this.draw();
  }
  draw() {
    const box = this.grid.getBoundingClientRect();
    if (!box.width) return;
    this.lines.setAttribute("width", this.grid.scrollWidth);
    this.lines.setAttribute("height", this.grid.scrollHeight);
    const at = (cell, bottom) => {
      const r = cell.getBoundingClientRect();
      return [r.left - box.left + this.grid.scrollLeft + r.width / 2, (bottom ? r.bottom : r.top) - box.top];
    };
    const paths = [];
    for (const { e, cell } of this.cells.values())
      for (const from of this.read(e)) {
        const [x0, y0] = at(from.cell, true), [x1, y1] = at(cell, false), mid = (y0 + y1) / 2;
        const line = svg("path", { d: `M${x0},${y0} C${x0},${mid} ${x1},${mid} ${x1},${y1}`, ...(e === this.picked ? { class: "on" } : {}) });
        if (e === this.picked) paths.push(line); else paths.unshift(line);
      }
    this.lines.replaceChildren(...paths);
  }
}
