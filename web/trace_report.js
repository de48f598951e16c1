// Draws the time line on a canvas: lanes of spans, of which a window of time is shown.
(() => {
  const canvas = document.getElementById('time'), tip = document.getElementById('tip');
  const {names, steps, lanes} = JSON.parse(document.getElementById('trace').textContent);
  const rowHeight = 17, laneHead = 20, axis = 24, fields = 6;
  let top = axis, end = 1;
  for (const lane of lanes) {
    lane.top = top + laneHead;
    top = lane.top + lane.rows * rowHeight + 8;
    for (let i = 0; i < lane.spans.length; i += fields) end = Math.max(end, lane.spans[i + 2] + lane.spans[i + 3]);
  }
  const height = top;
  let from = 0, to = end;  // shown, in microseconds
  const c = canvas.getContext('2d');
  const x = t => (t - from) / (to - from) * canvas.clientWidth;
  const time = px => from + px / canvas.clientWidth * (to - from);
  const number = (v, digits) => String(+v.toPrecision(digits));
  const duration = us => us < 1000 ? `${number(us, 3)} µs` : us < 1e6 ? `${number(us / 1e3, 4)} ms` : `${number(us / 1e6, 4)} s`;

  const draw = () => {
    const scale = devicePixelRatio || 1, width = canvas.clientWidth, style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(`--${name}`);
    const colors = names.map(n => color(n[1])), ink = color('ink'), soft = color('soft'), grid = color('grid');
    canvas.style.height = `${height}px`;
    canvas.width = width * scale, canvas.height = height * scale;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = '11.5px system-ui, sans-serif', c.textBaseline = 'middle';
    const raw = (to - from) * 90 / width, power = 10 ** Math.floor(Math.log10(raw));
    const tick = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw);
    for (let t = Math.ceil(from / tick) * tick; t <= to; t += tick) {
      c.fillStyle = grid, c.fillRect(x(t), axis - 6, 1, height);
      c.fillStyle = soft, c.fillText(duration(Math.abs(t) < tick / 2 ? 0 : t), x(t) + 4, 9);
    }
    for (const lane of lanes) {
      c.fillStyle = soft, c.fillText(lane.name, 0, lane.top - 9);
      const painted = new Int32Array(lane.rows).fill(-1);  // up to which pixel: many short spans are one
      const s = lane.spans;
      for (let i = 0; i < s.length; i += fields) {
        if (s[i + 2] > to || s[i + 2] + s[i + 3] < from) continue;
        const left = Math.max(0, x(s[i + 2])), right = Math.min(width, x(s[i + 2] + s[i + 3])), row = s[i];
        if (right < painted[row]) continue;
        painted[row] = Math.ceil(right);
        const wide = Math.max(1, right - left - (right - left > 3 ? 1 : 0)), y = lane.top + row * rowHeight;
        const [name, , kind] = names[s[i + 1]], plain = kind === 'step' || kind === 'layer' || kind === 'product';
        c.fillStyle = colors[s[i + 1]], c.fillRect(left, y, wide, rowHeight - 2);
        if (plain && wide > 3) c.strokeStyle = grid, c.strokeRect(left + .5, y + .5, wide - 1, rowHeight - 3);
        if (wide < 34) continue;
        c.save(), c.beginPath(), c.rect(left, y, wide - 3, rowHeight), c.clip();
        c.fillStyle = plain ? ink : '#fff';
        if (!plain) c.shadowColor = '#000a', c.shadowBlur = 3;
        c.fillText(name, left + 4, y + rowHeight / 2 - .5), c.restore();
      }
    }
  };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const show = (a, b) => {
    const span = Math.min(end * 1.02, Math.max(b - a, .5)), middle = (a + b) / 2;
    from = Math.min(Math.max(middle - span / 2, 0), Math.max(0, end * 1.02 - span)), to = from + span;
    redraw();
  };
  const zoom = (factor, px) => {
    const t = time(px);
    show(t - (t - from) * factor, t + (to - t) * factor);
  };
  const at = e => {  // the span under the pointer
    const box = canvas.getBoundingClientRect(), t = time(e.clientX - box.left), y = e.clientY - box.top;
    const slack = (to - from) / canvas.clientWidth;
    for (const lane of lanes) {
      const row = Math.floor((y - lane.top) / rowHeight), s = lane.spans;
      if (row < 0 || row >= lane.rows) continue;
      for (let i = 0; i < s.length; i += fields)
        if (s[i] === row && t >= s[i + 2] - slack && t <= s[i + 2] + s[i + 3] + slack)
          return {name: names[s[i + 1]], begin: s[i + 2], length: s[i + 3], flops: s[i + 4], bytes: s[i + 5]};
    }
    return null;
  };
  const step = forward => {  // steps of several threads may overlap
    const begins = [];
    for (let i = 0; i < steps.length; i += 2) begins.push([steps[i], steps[i] + steps[i + 1]]);
    begins.sort((a, b) => a[0] - b[0]);
    if (!begins.length) return show(0, end);
    const middle = (from + to) / 2, whole = to - from >= end, slack = end * 1e-3;
    const next = forward ? begins.find(b => b[0] > (whole ? -1 : middle)) || begins[begins.length - 1]
                         : [...begins].reverse().find(b => b[1] < (whole ? Infinity : middle)) || begins[0];
    show(next[0] - slack, next[1] + slack);
  };
  const go = {
    all: () => show(0, end), in: () => zoom(.5, canvas.clientWidth / 2), out: () => zoom(2, canvas.clientWidth / 2),
    next: () => step(true), previous: () => step(false)};
  for (const b of document.querySelectorAll('[data-go]')) b.addEventListener('click', () => go[b.dataset.go]());
  const keys = {ArrowLeft: () => show(from - (to - from) / 4, to - (to - from) / 4),
    ArrowRight: () => show(from + (to - from) / 4, to + (to - from) / 4), '+': go.in, '=': go.in, '-': go.out, '0': go.all};
  canvas.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault(), keys[e.key]();
  });
  canvas.addEventListener('wheel', e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    zoom(2 ** (e.deltaY / 250), e.clientX - canvas.getBoundingClientRect().left);
  }, {passive: false});
  let held = null;
  canvas.addEventListener('pointerdown', e => {
    held = {x: e.clientX, from, to, moved: false};
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointerup', e => {
    const click = held && !held.moved;
    held = null;
    const span = click ? at(e) : null;
    if (span) show(span.begin - span.length * .02, span.begin + span.length * 1.02);
  });
  canvas.addEventListener('pointercancel', () => { held = null; });
  canvas.addEventListener('pointermove', e => {
    if (held) {
      held.moved = held.moved || Math.abs(e.clientX - held.x) > 3;
      const by = (e.clientX - held.x) / canvas.clientWidth * (held.to - held.from);
      if (held.moved) show(held.from - by, held.to - by);
    }
    const span = held && held.moved ? null : at(e);
    tip.hidden = !span;
    if (!span) return;
    const lines = [`${span.name[0]}  (${span.name[2]})`, `${duration(span.length)}, from ${duration(span.begin)}`];
    if (span.flops) lines.push(`${number(span.flops / 1e9, 4)} GFLOP, ${number(span.flops / span.length / 1e3, 4)} GFLOP/s`);
    if (span.bytes) lines.push(`${number(span.bytes / 1e6, 4)} MB`);
    tip.textContent = lines.join('\n');
    const left = e.clientX + 16 + tip.offsetWidth > innerWidth ? e.clientX - 16 - tip.offsetWidth : e.clientX + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 4)}px`;
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  go.next();
})();
