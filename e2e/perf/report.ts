// Writes a page of docs/benchmarks/ with the figures of one run and the machine that it ran on.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';

export interface Report {
  /** File name without its extension. */
  readonly page: string;
  readonly title: string;
  /** Paragraphs before the table. */
  readonly intro: readonly string[];
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function writeReport({ page, title, intro, columns, rows }: Report): void {
  const [cpu] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const text = [
    `# ${title}`,
    ...intro.flatMap((paragraph) => ['', paragraph]),
    '',
    `Measured on ${day}, on ${cpus().length} cores of ${cpu?.model.trim() ?? 'an unknown processor'}, with Node ${process.versions.node}.`,
    '',
    line(columns),
    line(columns.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...rows.map(line),
    '',
  ].join('\n');
  writeFileSync(join(ROOT, 'docs/benchmarks', `${page}.md`), text);
}
