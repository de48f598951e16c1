// CSS and the only script of the page. Colors are variables with a light and a dark value: --c for runs, --p for parts
// of a step, --k for kinds of events. Without the script only the values under the pointer are missing.
#include "quern/train/report/report.h"

namespace quern::report {

std::string_view style() {
  return R"css(
:root{color-scheme:light dark;--page:#f7f6f3;--sheet:#fffefc;--ink:#23262b;--soft:#6c7078;--rule:#e4e2dc;--grid:#ecebe6;
--band:#f2f0ea;--c0:#2767a5;--c1:#c8622a;--c2:#2f8a63;--c3:#8a4f9e;--c4:#b3404f;--c5:#8a7420;--c6:#2a8e9c;--c7:#70757d;
--p0:#3b78ae;--p1:#86b0d3;--p2:#c98b4b;--p3:#5f9c7a;--p4:#c9b458;--p5:#a177b0;--p6:#b9bcc0;
--k0:#c98a12;--k1:#c23b3b;--k2:#3b78c2;--k3:#8b8f96}
@media (prefers-color-scheme:dark){:root{--page:#16181b;--sheet:#1d2024;--ink:#e4e5e6;--soft:#979ca4;--rule:#31353a;
--grid:#292d32;--band:#23272c;--c0:#6aa9e6;--c1:#e8905a;--c2:#62bf93;--c3:#c08ad4;--c4:#e67a87;--c5:#c9b254;--c6:#5fc1cf;
--c7:#a3a8af;--p0:#4f8cc4;--p1:#2f5f88;--p2:#b97a3c;--p3:#4f8f6c;--p4:#a8943c;--p5:#8a639a;--p6:#5b6066;
--k0:#e0a83a;--k1:#e56a6a;--k2:#74a9ea;--k3:#8f949b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,"Segoe UI","Helvetica Neue","DejaVu Sans",sans-serif}
main{max-width:1160px;margin:0 auto;padding:36px 20px 64px}
header p{margin:0;color:var(--soft);font-size:13px}
h1{margin:0 0 20px;font-size:27px;font-weight:600;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{margin:40px 0 12px;font-size:18px;font-weight:600}
h3{margin:0 0 8px;font-size:14px;font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(136px,1fr));gap:12px}
.tile,.card,figure{background:var(--sheet);border:1px solid var(--rule);border-radius:8px}
.tile{padding:12px 14px;display:flex;flex-direction:column}
.tile span,.tile small{color:var(--soft);font-size:12.5px}
.tile b{font-size:20px;font-weight:600;line-height:1.35;font-variant-numeric:tabular-nums;white-space:nowrap}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;margin:16px 0;color:var(--soft);font-size:13px}
.key span{display:inline-flex;align-items:center;gap:7px}
.key i,.swatch{display:inline-block;width:12px;height:12px;border-radius:3px;flex:none}
.key .thin,.key .thick{width:20px;height:1px;background:var(--c0);opacity:.45;border-radius:0}
.key .thick{height:2.5px;opacity:1}
.key .round,.events .round{display:inline-block;width:9px;height:9px;border-radius:50%}
.key svg{width:13px;height:13px}
.grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:14px}
.wide{grid-column:1/-1}
figure{margin:0;padding:13px 14px 8px;position:relative}
figcaption{font-weight:600;font-size:14.5px}
figcaption span{margin-left:9px;color:var(--soft);font-weight:400;font-size:13px}
.scroll{overflow-x:auto}
.chart{display:block;width:100%;height:auto;font-size:11.5px;font-variant-numeric:tabular-nums}
.wide .chart{min-width:860px}
.grid .chart text{fill:var(--soft)}
.tick.y,.tick.end{text-anchor:end}.tick.x{text-anchor:middle}
.rule{stroke:var(--grid);fill:none}
.axis{stroke:var(--rule);fill:none}
.band0{fill:none}.band1{fill:var(--band)}
.band0,.band1{pointer-events:all}
.chart .band-name{font-size:11px;opacity:.85}
.raw,.line,.dotline{fill:none;stroke-linejoin:round;stroke-linecap:round}
.raw{stroke-width:1;opacity:.3}.line{stroke-width:2}
.dotline{stroke-width:1;stroke-dasharray:2 4;opacity:.7}
.dot{stroke:var(--sheet);stroke-width:1.4}
.layer{stroke:var(--sheet);stroke-width:.5}
.mark path{stroke:currentColor;stroke-dasharray:3 4;opacity:.65}
.mark circle{fill:currentColor;stroke:var(--sheet);stroke-width:1.5}
.guide{stroke:var(--soft);opacity:.6;pointer-events:none}
.switch{position:absolute;opacity:0}
.switch+label{position:absolute;top:12px;right:14px;padding:1px 10px;border:1px solid var(--rule);border-radius:11px;
color:var(--soft);font-size:12.5px;cursor:pointer;user-select:none}
.switch:checked+label{background:var(--c0);border-color:var(--c0);color:var(--sheet)}
.switch:focus-visible+label{outline:2px solid var(--c0);outline-offset:2px}
.switch:checked~.lin,.switch:not(:checked)~.log{display:none}
.share{display:grid;grid-template-columns:1fr auto;margin:10px 0;font-size:13px}
.share b{font-weight:500;overflow-wrap:anywhere}.share span{color:var(--soft)}
.bar{grid-column:1/-1;display:flex;height:24px;margin-top:4px;border-radius:5px;overflow:hidden}
.bar i{font-style:normal;font-size:12px;line-height:24px;text-align:center;color:#fff;overflow:hidden;text-shadow:0 0 3px #0008}
figure .key{margin:8px 0 6px}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:6px 14px 6px 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--rule)}
thead th{color:var(--soft);font-weight:500;font-size:12.5px;white-space:nowrap}
tbody th{font-weight:500}
.runs td,.runs thead th:not(:first-child){text-align:right;white-space:nowrap;padding:6px 0 6px 14px}
.swatch{margin-right:8px;vertical-align:-1px}
.events td{white-space:nowrap}.events td:last-child{white-space:normal;width:70%}
.events .round{margin-right:7px}
.note{color:var(--soft);font-size:13.5px}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(330px,1fr));gap:14px;align-items:start}
.card{padding:13px 15px}
dl{margin:0;font-size:13.5px}
dl div{display:flex;justify-content:space-between;gap:16px;padding:3px 0;border-top:1px solid var(--grid)}
dl div:first-child{border-top:0}
dt{color:var(--soft)}dd{margin:0;text-align:right;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.card tr:last-child td{border-bottom:0}
details{margin-top:16px}summary{cursor:pointer;font-weight:600;margin-bottom:12px}
#tip{position:fixed;z-index:1;pointer-events:none;background:var(--sheet);border:1px solid var(--rule);border-radius:6px;
padding:6px 10px;font-size:12.5px;box-shadow:0 3px 12px #0002;font-variant-numeric:tabular-nums;white-space:pre}
#tip i{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px}
@media (max-width:760px){.grid{grid-template-columns:minmax(0,1fr)}main{padding:20px 12px 40px}}
@media print{body{background:none}.switch+label{display:none}figure,.card{break-inside:avoid}}
)css";
}

std::string_view script() {
  return R"js(
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
          p => ({name: p.dataset.name, colour: p.style.stroke, ps: points(p.getAttribute('d')), base: null}));
      let below = null;
      const layers = [...svg.querySelectorAll('.layer')].map(p => {
        const ps = points(p.getAttribute('d')).slice(0, +p.dataset.n), base = below;
        below = ps;
        return {name: p.dataset.name, colour: p.style.fill, ps, base};
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
        swatch.style.background = s.colour;
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
)js";
}

}  // namespace quern::report
