// Shows the values under the pointer; without it the page lacks nothing else.
(() => {
  const tip = document.getElementById('tip');
  const scale = text => {
    const [log, low, high, from, to] = text.split(',').map(Number);
    return {from, to, value: px => {
      const t = (px - from) / (to - from);
      return log ? low * Math.pow(high / low, t) : low + t * (high - low);
    }};
  };
  const points = d => [...d.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(m => [+m[1], +m[2]]);
  const short = (v, counts) => {
    const suffixes = ['', ' k', ' M', ' B', ' T'];
    let s = 0;
    if (counts) for (; Math.abs(v) >= 999.5 && s < 4; ++s) v /= 1000;
    return String(+v.toPrecision(4)) + suffixes[s];
  };
  const nearest = (ps, x) => {
    let low = 0, high = ps.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (ps[middle][0] < x) low = middle; else high = middle;
    }
    return Math.abs(ps[low][0] - x) < Math.abs(ps[high][0] - x) ? ps[low] : ps[high];
  };
  for (const svg of document.querySelectorAll('svg.chart')) {
    const X = scale(svg.dataset.x), Y = scale(svg.dataset.y), counts = svg.dataset.counts === '1';
    const guide = svg.querySelector('.guide');
    let series = null;  // read when the pointer first comes
    const read = () => {
      const lines = [...svg.querySelectorAll('.line')].map(
          p => ({name: p.dataset.name, color: p.style.stroke, ps: points(p.getAttribute('d')), base: null}));
      let below = null;
      const layers = [...svg.querySelectorAll('.layer')].map(p => {
        const ps = points(p.getAttribute('d')).slice(0, +p.dataset.n), base = below;
        below = ps;
        return {name: p.dataset.name, color: p.style.fill, ps, base};
      });
      return lines.concat(layers.reverse()).filter(s => s.ps.length);
    };
    svg.addEventListener('pointermove', e => {
      const box = svg.getBoundingClientRect();
      const x = (e.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      series = series || read();
      if (x < X.from || x > X.to || !series.length) return hide();
      const at = nearest(series[0].ps, x)[0];
      guide.setAttribute('d', `M${at} ${Y.to}V${Y.from}`);
      tip.textContent = `${short(X.value(at), true)} ${svg.dataset.xname}`;
      for (const s of series) {
        const p = nearest(s.ps, at);
        if (Math.abs(p[0] - at) > 12) continue;
        const under = s.base ? nearest(s.base, at)[1] : null;
        const v = under === null ? Y.value(p[1]) : Y.value(p[1]) - Y.value(under);
        const swatch = document.createElement('i');
        swatch.style.background = s.color;
        tip.append('\n', swatch, `${short(v, counts)}${svg.dataset.unit}  ${s.name}`);
      }
      tip.hidden = false;
      const left = e.clientX + 16 + tip.offsetWidth > innerWidth ? e.clientX - 16 - tip.offsetWidth : e.clientX + 16;
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${Math.min(e.clientY + 12, innerHeight - tip.offsetHeight - 4)}px`;
    });
    const hide = () => { tip.hidden = true; guide.removeAttribute('d'); };
    svg.addEventListener('pointerleave', hide);
  }
})();
