// Reports as one Markdown page, docs/performance.md.
// Invariant: every figure in it comes from rows.

import type { BenchmarkDocument } from '@fairlead/core/benchmark/document';
import { EVENT_HEADINGS, EVENT_NOTE, effectsOf, eventColumns, nameOf } from './event.ts';
import { formatDay, formatInterval, formatNumber, formatRatio, plural } from './format.ts';
import { type Metric, THROUGHPUT } from './metrics.ts';
import { factsOf, headingOf, methodOf, type Report } from './page.ts';
import { columnHeading, formatPublished, REFERENCE_NOTE, type Reference, sourceOf } from './reference.ts';
import type { Cell, Figure, Group } from './summary.ts';
import { cautionsOf, columnsOf, errorsOf, ratioNote } from './table.ts';

export interface NamedReport {
  readonly report: Report;
  /** Path of its rows, relative to the page. */
  readonly rowsPath: string;
}

export function renderMarkdown(reports: readonly NamedReport[], references: readonly Reference[]): string {
  const blocks = [
    '# Performance',
    'A script writes this page from raw rows: `npm run report -- --write`. `npm run report` draws the same rows as web pages with charts.',
    '## Measured here',
    ...(reports.length === 0
      ? ['No rows are committed yet. `npm run perf:proxy -- --rows docs/benchmarks/rows/NAME.json` measures some.']
      : reports.flatMap(ofReport)),
    ...(references.length === 0 ? [] : ['## Published elsewhere', REFERENCE_NOTE, ...references.flatMap(ofReference)]),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function ofReport({ report: { document, groups, headline }, rowsPath }: NamedReport): string[] {
  const { command, createdAt, notMeasured, targets, title, rows } = document;
  const facts = factsOf(document).map(([term, value]) => `- ${term}: ${text(value)}`);
  const versions = targets.flatMap(({ label, version }) =>
    version === null ? [] : [`- ${text(label)}: ${text(version)}`],
  );
  const missing = notMeasured.map(
    ({ target, scenario, reason }) =>
      `- Not measured: ${text(target)}${scenario === null ? '' : ` (${text(scenario)})`}: ${text(reason)}`,
  );
  return [
    `### ${text(title)}`,
    `${formatDay(createdAt)}, [${plural(rows.length, 'raw row')}](${rowsPath}). ${READING}`,
    `**${text(headline.text)}**`,
    ...groups.flatMap((group) => ofGroup(group, groups, document)),
    '#### Method',
    [...methodOf(document).map((line) => `- ${text(line)}`), ...facts, ...versions, ...missing].join('\n'),
    ...(command === null ? [] : [`Run it again:\n\n\`\`\`sh\n${command}\n\`\`\``]),
  ];
}

const READING =
  'Figures are medians over rounds with their 95 % interval below. × is the ratio to the baseline, with its interval. The web pages have more columns.';

/** A group is one table, or one for each metric by concurrency. Its phases are one table of their effects. */
function ofGroup(group: Group, groups: readonly Group[], document: BenchmarkDocument): string[] {
  const effects = effectsOf(group, groups);
  const isShown = effects.length > 0 || !groups.some((other) => hasEffectsOf(other, group, groups));
  if (!isShown) return [];
  const [title, detail] = headingOf(group, document);
  if (effects.length > 0) {
    const rows = effects.map((effect) => [[nameOf(effect)], ...eventColumns(effect)]);
    return [
      `#### ${text(title)}`,
      `${text(detail)} ${EVENT_NOTE}`,
      tableOf(EVENT_HEADINGS.map(text), rows.map(linesOf)),
    ];
  }
  const lead = [text(detail), text(ratioNote(group)), ...(hasErrors(group) ? [] : ['No errors.'])].join(' ');
  const metrics = columnsOf(group).filter(({ isCompared }) => isCompared);
  const tables =
    group.levels.length > 1
      ? metrics.flatMap((metric) => [
          `**${metric.title}** by concurrency (${metric.unit})`,
          byConcurrency(group, metric),
        ])
      : [oneLevel(group, metrics)];
  return [`#### ${text(title)}`, lead, ...tables, ...(group.levels.length > 1 ? errorTable(group) : [])];
}

/** True if the table of effects of `other` shows this group. */
function hasEffectsOf(other: Group, group: Group, groups: readonly Group[]): boolean {
  const shown = effectsOf(other, groups).flatMap(({ before, after }) => [before, after]);
  return group.cells.some((cell) => shown.includes(cell));
}

function hasErrors({ cells }: Group): boolean {
  return cells.some(({ errors }) => errors > 0);
}

function byConcurrency({ cells, levels, targets }: Group, metric: Metric): string {
  const rows = targets.map((target) => [
    [target.label],
    ...levels.map((level) => {
      const cell = cellAt(cells, target.name, level);
      const cautions = cell === undefined || metric !== THROUGHPUT ? [] : cautionsOf(cell);
      return [...figureLines(cell?.figures.get(metric.id)), ...cautions];
    }),
  ]);
  return tableOf(['Target', ...levels.map(formatNumber)], rows.map(linesOf));
}

function errorTable(group: Group): string[] {
  if (!hasErrors(group)) return [];
  const { cells, levels, targets } = group;
  const rows = targets.map(({ name, label }) => [
    [label],
    ...levels.map((level) => {
      const cell = cellAt(cells, name, level);
      return [cell === undefined ? '' : errorsOf(cell)];
    }),
  ]);
  return ['**Errors** by concurrency', tableOf(['Target', ...levels.map(formatNumber)], rows.map(linesOf))];
}

function oneLevel(group: Group, metrics: readonly Metric[]): string {
  const errors = hasErrors(group);
  const rows = group.cells.map((cell) => [
    [cell.target.label, ...cautionsOf(cell)],
    ...metrics.map(({ id }) => figureLines(cell.figures.get(id))),
    ...(errors ? [[errorsOf(cell)]] : []),
  ]);
  return tableOf(
    ['Target', ...metrics.map(({ heading }) => heading), ...(errors ? ['Errors'] : [])],
    rows.map(linesOf),
  );
}

function cellAt(cells: readonly Cell[], target: string, level: number): Cell | undefined {
  return cells.find(({ target: { name }, concurrency }) => name === target && concurrency === level);
}

/** Returns the median, its interval, and the ratio with its interval. */
function figureLines(figure: Figure | undefined): string[] {
  if (figure === undefined) return [];
  const { metric, median, interval, ratio, ratioInterval } = figure;
  const within = ratioInterval === null ? '' : ` (${formatInterval(ratioInterval, formatRatio)})`;
  return [
    metric.format(median),
    ...(interval === null ? [] : [formatInterval(interval, metric.format)]),
    ...(ratio === null ? [] : [`×${formatRatio(ratio)}${within}`]),
  ];
}

function ofReference(reference: Reference): string[] {
  return [
    `### ${text(reference.project)}: ${text(reference.title)}`,
    sourceOf(reference),
    [...reference.conditions, ...reference.cautions].map((line) => `- ${text(line)}`).join('\n'),
    ...reference.tables.flatMap(({ title, columns, rows }) => [
      `#### ${text(title)}`,
      tableOf(
        ['Target', ...columns.map(columnHeading)].map(text),
        rows.map(({ target, values }) => [target, ...values.map(formatPublished)].map(text)),
      ),
    ]),
  ];
}

/** Joins the lines of each cell. */
function linesOf(row: readonly (readonly string[])[]): string[] {
  return row.map((lines) => lines.map(text).join('<br>'));
}

/** Takes Markdown. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`, ...rows.map(line)].join('\n');
}

/** Text that Markdown shows as it is. */
function text(value: string): string {
  return value.replace(/[\\`*_[\]<>|]/g, (character) => `\\${character}`).replaceAll('\n', ' ');
}
