// Plot area that all charts of a report share: frame, axes, series and accessible name. Draws at about the size of a phone's
// screen, so that its text stays readable there.
import { html, type Markup } from './markup.ts';
import type { Look } from './series.ts';

export const WIDTH = 360;
export const HEIGHT = 230;
export const MARGIN = { top: 12, right: 14, bottom: 38, left: 64 };
export const RIGHT = WIDTH - MARGIN.right;
export const BOTTOM = HEIGHT - MARGIN.bottom;
/** Pixels that a label of an axis needs for itself. */
const LABEL_GAP = 26;

export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface Series {
  readonly name: string;
  readonly look: Look;
  readonly line: string;
  readonly band?: string;
  readonly points?: readonly { readonly x: number; readonly y: number }[];
}

export interface Plot {
  /** Unique in the page. */
  readonly id: string;
  /** Kind of the chart, for tests and styles. */
  readonly kind: string;
  readonly title: string;
  readonly unit: string;
  readonly description: string;
  readonly xLabel: string;
  readonly xTicks: readonly Tick[];
  readonly yTicks: readonly Tick[];
  readonly series: readonly Series[];
}

export function drawPlot({ id, kind, title, unit, description, xLabel, xTicks, yTicks, series }: Plot): Markup {
  return html`<figure class="chart">
<figcaption><b>${title}</b> <span>${unit}</span></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-desc" data-chart="${kind}">
<title id="${id}-title">${title}</title><desc id="${id}-desc">${description}</desc>
${yTicks.map(
  ({ at, label }) =>
    html`<path class="grid" d="M${MARGIN.left} ${round(at)}H${RIGHT}"/><text class="axis" x="${MARGIN.left - 8}" y="${round(at + 4)}" text-anchor="end">${label}</text>`,
)}
<path class="base" d="M${MARGIN.left} ${BOTTOM}H${RIGHT}"/>
${thinned(xTicks).map(
  ({ at, label }) =>
    html`<path class="base" d="M${round(at)} ${BOTTOM}v4"/><text class="axis" x="${round(at)}" y="${BOTTOM + 17}" text-anchor="middle">${label}</text>`,
)}
<text class="axis" x="${(MARGIN.left + RIGHT) / 2}" y="${HEIGHT - 4}" text-anchor="middle">${xLabel}</text>
${series.map((each) => (each.band === undefined ? '' : html`<path class="band ${each.look.color}" d="${each.band}"/>`))}
${series.map(drawSeries)}
</svg>
</figure>`;
}

/** Sample of a series for a legend. */
export function drawSample({ color, dash, mark }: Look): Markup {
  return html`<svg class="sample" viewBox="0 0 26 12" aria-hidden="true"><path class="line ${color}" d="M1 6H25" stroke-dasharray="${dash}"/><path class="point ${color}" d="${mark}" transform="translate(13 6)"/></svg>`;
}

function drawSeries({ name, look, line, points = [] }: Series): Markup {
  return html`<g data-series="${name}"><path class="line ${look.color}" d="${line}" stroke-dasharray="${look.dash}"/>${points.map(
    ({ x, y }) =>
      html`<path class="point ${look.color}" d="${look.mark}" transform="translate(${round(x)} ${round(y)})"/>`,
  )}</g>`;
}

/** Leaves out labels that would touch the one before; keeps the last. */
function thinned(ticks: readonly Tick[]): Tick[] {
  const last = ticks.at(-1);
  const shown: Tick[] = [];
  for (const tick of ticks) {
    const previous = shown.at(-1);
    const isFree = previous === undefined || tick.at - previous.at >= gapOf(previous, tick);
    const hidesLast = last !== undefined && tick !== last && last.at - tick.at < gapOf(tick, last);
    if (isFree && !hidesLast) shown.push(tick);
  }
  return shown;
}

function gapOf(one: Tick, other: Tick): number {
  return Math.max(LABEL_GAP, (one.label.length + other.label.length) * 3.6 + 6);
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
