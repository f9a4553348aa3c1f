// Table of a group's cells: medians with intervals and ratios. It is also the text alternative of the charts.
import { failureLabel, formatInterval, formatNumber, formatRatio, protocolLabel } from './format.ts';
import { html, type Markup } from './markup.ts';
import { METRICS, type Metric } from './metrics.ts';
import { drawSample } from './plot.ts';
import type { Look } from './series.ts';
import type { Cell, Figure, Group } from './summary.ts';

/** Metrics of which the group has a figure, in the order of the columns. */
export function columnsOf({ cells }: Group): Metric[] {
  return METRICS.filter(({ id }) => cells.some(({ figures }) => figures.has(id)));
}

export function resultTable(group: Group, title: string, looks: ReadonlyMap<string, Look>): Markup {
  const columns = columnsOf(group);
  return html`<p class="detail">${figuresNote(group)} ${ratioNote(group)}</p><div class="scroll" role="region" aria-label="${title}" tabindex="0"><table data-table="${group.key}">
<thead><tr><th scope="col">Target</th><th scope="col" class="n">Concurrency</th>${columns.map(
    ({ heading }) => html`<th scope="col" class="n">${heading}</th>`,
  )}<th scope="col" class="n">Errors</th></tr></thead>
${group.levels.map(
  (level) =>
    html`<tbody>${group.cells
      .filter(({ concurrency }) => concurrency === level)
      .map(
        (cell) =>
          html`<tr><th scope="row">${sampleOf(looks, cell)}${cell.target.label}${marksOf(cell)}</th><td class="n">${formatNumber(cell.concurrency)}</td>${columns.map(
            (metric) => html`<td class="n">${figureCell(cell.figures.get(metric.id))}</td>`,
          )}<td class="n">${errorsOf(cell)}</td></tr>`,
      )}</tbody>`,
)}</table></div>`;
}

/** Says how the figures of a group come from its rounds. */
function figuresNote({ cells }: Group): string {
  if (cells.every(({ rounds }) => rounds === 1)) return 'Figures of one round.';
  const hasIntervals = cells.some(({ figures }) => [...figures.values()].some(({ interval }) => interval !== null));
  return hasIntervals ? 'Medians over rounds, with 95 % intervals.' : 'Medians over rounds.';
}

/** Says what the ratios of a group compare with. */
export function ratioNote({ baseline, baselineProtocol, protocol }: Group): string {
  if (baseline === null) return 'No ratios: no baseline was measured by this path.';
  const over = baselineProtocol === protocol ? '' : ` over ${protocolLabel(baselineProtocol ?? '')}`;
  return `A ratio (×) compares with ${baseline.label}${over} by the same network path, round by round.`;
}

export function errorsOf({ errors, failures }: Cell): string {
  const kinds = Object.entries(failures).map(([kind, count]) => `${failureLabel(kind)} ${formatNumber(count)}`);
  return kinds.length === 0 ? formatNumber(errors) : `${formatNumber(errors)} (${kinds.join(', ')})`;
}

/** Returns the reasons for caution before a cell is compared. */
export function cautionsOf({ reproducible, saturated, noisy, rounds }: Cell): string[] {
  const often = (count: number) => (rounds === 1 ? '' : ` in ${count} of ${rounds}`);
  return [
    ...(reproducible === false ? ['not reproducible'] : []),
    ...(saturated > 0 ? [`generator saturated${often(saturated)}`] : []),
    ...(noisy > 0 ? [`machine busy${often(noisy)}`] : []),
  ];
}

function marksOf(cell: Cell): Markup[] {
  return cautionsOf(cell).map((caution) => html`<small class="caution">${caution}</small>`);
}

export function sampleOf(looks: ReadonlyMap<string, Look>, { target }: Cell): Markup | '' {
  const look = looks.get(target.name);
  return look === undefined ? '' : drawSample(look);
}

function figureCell(figure: Figure | undefined): Markup | '' {
  if (figure === undefined) return '';
  const { metric, median, interval, ratio, ratioInterval } = figure;
  return html`${metric.format(median)}${intervalOf(interval, metric)}${
    ratio === null
      ? ''
      : html`<small class="ratio">×${formatRatio(ratio)}${ratioInterval === null ? '' : ` (${formatInterval(ratioInterval, formatRatio)})`}</small>`
  }`;
}

/** Returns nothing for an interval that is narrower than the rounding. */
function intervalOf(interval: Figure['interval'], { format }: Metric): Markup | '' {
  if (interval === null || format(interval.low) === format(interval.high)) return '';
  return html`<small>${formatInterval(interval, format)}</small>`;
}
