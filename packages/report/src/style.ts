// Style sheet of reports: the dashboard's tokens, light and dark, for screens from 390 pixels and for paper.
import { createHash } from 'node:crypto';

export const STYLE = `
:root{color-scheme:light dark;--canvas:light-dark(#f9fafb,#0c0f14);--surface:light-dark(#fff,#12161c);--line:light-dark(#e1e4e9,#262b34);--ink:light-dark(#161b24,#eef0f3);--soft:light-dark(#4b5361,#b3bac5);--faint:light-dark(#626a78,#8f97a4);--accent:light-dark(#f97a22,#fb8a3c);--accent-text:light-dark(#a84708,#fba564);--warn:light-dark(#7a5200,#f0c265);--warn-wash:light-dark(#fff3d9,#33270d);--orange:light-dark(#d95f0b,#fb9047);--blue:light-dark(#2f6fd6,#74a4f7);--teal:light-dark(#12857f,#45c5bb);--violet:light-dark(#7c45d6,#b08cf5);--grey:light-dark(#6d7585,#98a1b0)}
*{box-sizing:border-box}
body{margin:0;background:var(--canvas);color:var(--ink);font:400 14px/1.5 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
main,header.page,footer{max-width:1320px;margin:0 auto;padding:0 24px}
header.page{padding-top:32px}
.mark{display:inline-flex;align-items:center;gap:8px;font-weight:600;color:var(--soft)}
.mark svg{width:20px;height:20px}.mark .ring{fill:none;stroke:var(--accent);stroke-width:3.25}.mark .rope{fill:none;stroke:var(--ink);stroke-width:2.25;stroke-linecap:round}
h1{font-size:28px;line-height:1.2;font-weight:600;margin:16px 0 4px;text-wrap:balance;overflow-wrap:anywhere}
h2{font-size:20px;line-height:1.3;font-weight:600;margin:40px 0 4px}
h3{font-size:16px;font-weight:600;margin:24px 0 8px}
p{margin:8px 0;max-width:75ch}
.meta,.detail{color:var(--soft)}.detail{max-width:none}.charts+.detail,.scroll+.detail{margin-top:16px}
.headline{font-size:20px;line-height:1.35;font-weight:600;text-wrap:pretty;border-left:4px solid var(--accent);padding:4px 0 4px 16px;margin:20px 0;max-width:60ch}
.headline.unknown,.note{color:var(--warn)}
.headline.unknown{border-color:currentColor}
.note{background:var(--warn-wash);border-radius:8px;padding:10px 14px;max-width:none}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;margin:12px 0;padding:0}
.legend li{display:inline-flex;align-items:center;gap:6px}
.sample{width:26px;height:12px;margin-right:8px;vertical-align:middle;flex:none}.legend .sample{margin:0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:16px}
.chart{margin:0;padding:12px 12px 8px;background:var(--surface);border:1px solid var(--line);border-radius:8px;break-inside:avoid}
.chart>svg{display:block;width:100%;height:auto}
figcaption{display:flex;flex-wrap:wrap;gap:0 8px;font-weight:400}figcaption b{font-weight:600}figcaption span{color:var(--faint)}
.axis{fill:var(--faint);font-size:11px;font-variant-numeric:tabular-nums}
.grid{stroke:var(--line);fill:none}.base{stroke:var(--faint);fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.band{opacity:.16;stroke:none}
.line.orange{stroke:var(--orange)}.line.blue{stroke:var(--blue)}.line.teal{stroke:var(--teal)}.line.violet{stroke:var(--violet)}.line.grey{stroke:var(--grey)}
.point.orange,.band.orange{fill:var(--orange)}.point.blue,.band.blue{fill:var(--blue)}.point.teal,.band.teal{fill:var(--teal)}.point.violet,.band.violet{fill:var(--violet)}.point.grey,.band.grey{fill:var(--grey)}
.scroll{overflow-x:auto;margin:16px 0;background:var(--surface);border:1px solid var(--line);border-radius:8px}
.scroll:focus-visible,a:focus-visible,summary:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:7px 9px;text-align:left;vertical-align:top;white-space:nowrap}tbody th,tbody td{border-top:1px solid var(--line)}tbody+tbody>tr:first-child>*{border-top:2px solid var(--faint)}tbody th,thead th:first-child{position:sticky;left:0;background:var(--surface)}
thead th{color:var(--soft);font-weight:500}tbody th{font-weight:500}
.n{text-align:right;font-variant-numeric:tabular-nums}
small{display:block;color:var(--faint);font-size:12px;font-weight:400}
small.ratio{color:var(--accent-text)}small.caution{color:var(--warn)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,220px),1fr));gap:12px 24px;margin:12px 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
ul.method{padding-left:18px;max-width:75ch}
details{border-top:1px solid var(--line);padding:8px 0}summary{cursor:pointer;font-weight:500}
pre{margin:8px 0;padding:12px;background:var(--surface);border:1px solid var(--line);border-radius:8px;overflow-x:auto;font:12px/1.5 ui-monospace,"SF Mono",Menlo,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
a{color:var(--accent-text)}
footer{color:var(--faint);padding-top:32px;padding-bottom:40px}
@media(max-width:640px){main,header.page,footer{padding-left:16px;padding-right:16px}h1{font-size:24px}.headline{font-size:16px}}
@media print{@page{margin:12mm}:root{color-scheme:light}body{background:#fff;font-size:11px}main,header.page,footer{max-width:none;padding-left:0;padding-right:0}header.page{padding-top:0}h1{font-size:24px}h2{font-size:15px;margin-top:24px}h3{font-size:12px;margin-top:16px}h2,h3,.detail,.legend,summary{break-after:avoid}.headline{font-size:15px}.note{border:1px solid currentColor}.scroll{overflow:visible;border:0}table{font-size:9px}thead th,tbody th,tbody td{padding:3px 5px}section:not(:has(.charts)),tr,dl>div,li{break-inside:avoid}thead th{white-space:normal;vertical-align:bottom}small{font-size:7.5px}.sample{width:20px;margin-right:4px}.charts{grid-template-columns:repeat(3,1fr);gap:8px}.chart{padding:6px}details{padding:4px 0}details::details-content{content-visibility:visible;height:auto}summary{list-style:none}pre{font-size:8px;padding:6px}a{color:inherit}}
`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** Content security policy of a report: no script, this style sheet only, images of the same origin. */
export const REPORT_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'`;
