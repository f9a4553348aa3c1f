// Reports as one Markdown page, docs/performance.md.
// Invariant: every figure in it comes from rows.
import { formatDay, formatInterval, formatNumber, formatRatio, plural } from './format.ts';
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
    `${formatDay(createdAt)}, [${plural(rows.length, 'raw row')}](${rowsPath}).`,
    `**${text(headline.text)}**`,
    ...groups.flatMap((group) => [
      `#### ${text(headingOf(group, document)[0])}`,
      `${text(headingOf(group, document)[1])} Medians over rounds, with 95 % intervals. ${ratioNote(group)}`,
      ofGroup(group),
    ]),
    '#### Method',
    [...methodOf(document).map((line) => `- ${text(line)}`), ...facts, ...versions, ...missing].join('\n'),
    ...(command === null ? [] : [`Run it again:\n\n\`\`\`sh\n${command}\n\`\`\``]),
  ];
}

function ofGroup(group: Group): string {
  const columns = columnsOf(group);
  const head = ['Target', 'Concurrency', ...columns.map(({ heading }) => heading), 'Errors'];
  const rows = group.cells.map((cell) => [
    nameOf(cell),
    formatNumber(cell.concurrency),
    ...columns.map(({ id }) => ofFigure(cell.figures.get(id))),
    errorsOf(cell),
  ]);
  return tableOf(head, rows);
}

function nameOf(cell: Cell): string {
  const cautions = cautionsOf(cell);
  return cautions.length === 0 ? cell.target.label : `${cell.target.label} (${cautions.join(', ')})`;
}

function ofFigure(figure: Figure | undefined): string {
  if (figure === undefined) return '';
  const { metric, median, interval, ratio, ratioInterval } = figure;
  const within = interval === null ? '' : ` (${formatInterval(interval, metric.format)})`;
  const times = ratioInterval === null ? '' : ` (${formatInterval(ratioInterval, formatRatio)})`;
  return `${metric.format(median)}${within}${ratio === null ? '' : `; ×${formatRatio(ratio)}${times}`}`;
}

function ofReference(reference: Reference): string[] {
  return [
    `### ${text(reference.project)}: ${text(reference.title)}`,
    sourceOf(reference),
    [...reference.conditions, ...reference.cautions].map((line) => `- ${text(line)}`).join('\n'),
    ...reference.tables.flatMap(({ title, columns, rows }) => [
      `#### ${text(title)}`,
      tableOf(
        ['Target', ...columns.map(columnHeading)],
        rows.map(({ target, values }) => [target, ...values.map(formatPublished)]),
      ),
    ]),
  ];
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(text).join(' | ')} |`;
  return [line(head), `|${head.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`, ...rows.map(line)].join('\n');
}

/** Text that Markdown shows as it is. */
function text(value: string): string {
  return value.replace(/[\\`*_[\]<>|]/g, (character) => `\\${character}`).replaceAll('\n', ' ');
}
