// Effects of an event under load, such as a deployment: failed requests, and latency during it beside that before it.
import { type Estimate, estimate, median } from '@fairlead/core/benchmark/statistics';
import { failureLabel, formatInterval, formatMs, formatNumber } from './format.ts';
import { html, type Markup } from './markup.ts';
import { P99, P999 } from './metrics.ts';
import type { Look } from './series.ts';
import type { Cell, Figure, Group } from './summary.ts';
import { sampleOf } from './table.ts';

/** Effects of one event on one target at one concurrency. */
export interface EventEffect {
  readonly during: Cell;
  readonly before: Cell;
  readonly after: Cell | null;
  readonly p99: AddedLatency | null;
  readonly p999: AddedLatency | null;
}

/** Difference of a latency during and before an event, in milliseconds. */
export interface AddedLatency {
  readonly median: number;
  /** 95 % interval; null with fewer than three rounds. */
  readonly interval: Estimate | null;
}

/** Returns the effects on each cell of a group with the phase `during`; empty for every other group. */
export function effectsOf(group: Group, groups: readonly Group[]): EventEffect[] {
  if (group.phase !== 'during') return [];
  const [befores, afters] = ['before', 'after'].map((phase) => groups.find((other) => isSameLoad(group, other, phase)));
  return group.cells.flatMap((during) => {
    const [before, after] = [befores, afters].map((other) => other?.cells.find((cell) => isSameCell(during, cell)));
    if (before === undefined) return [];
    const added = (id: string) => addedLatency(before.figures.get(id), during.figures.get(id));
    return [{ during, before, after: after ?? null, p99: added(P99.id), p999: added(P999.id) }];
  });
}

function isSameLoad(one: Group, other: Group, phase: string): boolean {
  const isSame = (key: 'scenario' | 'protocol' | 'connection' | 'networkPath') => one[key] === other[key];
  return (
    other.phase === phase && isSame('scenario') && isSame('protocol') && isSame('connection') && isSame('networkPath')
  );
}

function isSameCell(one: Cell, other: Cell): boolean {
  return one.target.name === other.target.name && one.concurrency === other.concurrency;
}

/** Pairs the rounds: a difference of different rounds would not cancel out the noise. */
function addedLatency(before: Figure | undefined, during: Figure | undefined): AddedLatency | null {
  const added = [...(during?.byRound ?? [])].flatMap(([round, ms]) => {
    const earlier = before?.byRound.get(round);
    return earlier === undefined ? [] : [ms - earlier];
  });
  const middle = median(added);
  return middle === null ? null : { median: middle, interval: estimate(added) };
}

export const EVENT_NOTE =
  'Failed: errors of all rounds, of all requests that were sent. Added: during minus before, round by round.';
export const EVENT_HEADINGS = ['Target', 'Failed', 'p99 before', 'p99 during', 'p99 after', 'Added p99', 'Added p99.9'];

/** Returns the columns of an effect after its target, each as lines: the first is the figure. */
export function eventColumns({ before, during, after, p99, p999 }: EventEffect): (readonly string[])[] {
  const p99Of = (cell: Cell | null) => {
    const figure = cell?.figures.get(P99.id);
    return figure === undefined ? '' : formatMs(figure.median);
  };
  return [failedOf(during), [p99Of(before)], [p99Of(during)], [p99Of(after)], linesOf(p99), linesOf(p999)];
}

function failedOf({ errors, requests, failures }: Cell): string[] {
  const kinds = Object.entries(failures).map(([kind, count]) => `${failureLabel(kind)} ${formatNumber(count)}`);
  return [`${formatNumber(errors)} of ${formatNumber(errors + requests)}`, ...kinds];
}

function linesOf(added: AddedLatency | null): string[] {
  if (added === null) return [''];
  return [signed(added.median), ...(added.interval === null ? [] : [formatInterval(added.interval, signed)])];
}

function signed(ms: number): string {
  return `${ms > 0 ? '+' : ms < 0 ? '−' : ''}${formatMs(Math.abs(ms))}`;
}

/** `label`: accessible name of the table. */
export function eventTable(effects: readonly EventEffect[], label: string, looks: ReadonlyMap<string, Look>): Markup {
  return html`<p class="detail">${EVENT_NOTE}</p><div class="scroll" role="region" aria-label="${label}" tabindex="0"><table data-event><thead><tr>${EVENT_HEADINGS.map(
    (heading, at) => html`<th scope="col"${at === 0 ? '' : html` class="n"`}>${heading}</th>`,
  )}</tr></thead><tbody>${effects.map(
    (effect) =>
      html`<tr><th scope="row">${sampleOf(looks, effect.during)}${nameOf(effect)}</th>${eventColumns(effect).map(
        ([figure, ...more]) =>
          html`<td class="n">${figure ?? ''}${more.map((line) => html`<small>${line}</small>`)}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`;
}

/** Returns an effect's target, and its concurrency. */
export function nameOf({ during: { target, concurrency } }: EventEffect): string {
  return `${target.label}, ${formatNumber(concurrency)} clients`;
}
