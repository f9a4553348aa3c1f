// Figures that others published, with their source. A report shows them beside its own and never in a ratio. Their JSON
// Schema is docs/benchmarks/reference.schema.json.
import { z } from 'zod';
import { formatDay } from './format.ts';
import { html, type Markup } from './markup.ts';

const text = z.string().min(1).max(300);

export const referenceSchema = z
  .object({
    format: z.literal('fairlead-reference-1'),
    title: text.describe('Title of the publication.'),
    project: text.describe('Project that published it.'),
    date: z.iso.date().nullable().describe('Day of the measurement or of the publication.'),
    source: text.nullable().describe('Place of the raw rows, as the publication names it.'),
    url: z.url().nullable(),
    conditions: z.array(text).max(20).describe('Machine, load and versions.'),
    cautions: z.array(text).max(20).describe('Limits of the measurement.'),
    tables: z
      .array(
        z.object({
          title: text,
          columns: z.array(
            z.object({
              metric: text,
              unit: z.string().max(40),
              concurrency: z.number().int().nullable(),
            }),
          ),
          rows: z.array(
            z.object({
              target: text,
              values: z.array(z.number().nullable()).describe('One figure for each column.'),
            }),
          ),
        }),
      )
      .min(1),
  })
  .refine(
    ({ tables }) => tables.every(({ columns, rows }) => rows.every((row) => row.values.length === columns.length)),
    {
      message: 'Each row has one figure for each column.',
    },
  );
export type Reference = z.infer<typeof referenceSchema>;
type ReferenceTable = Reference['tables'][number];

export const REFERENCE_NOTE =
  'These figures come from other machines, loads and tools. Fairlead did not measure them, and no ratio uses them.';

export function referenceSection(references: readonly Reference[]): Markup | '' {
  if (references.length === 0) return '';
  return html`<section data-section="reference"><h2>Published elsewhere</h2><p class="detail">${REFERENCE_NOTE}</p>${references.map(
    (reference) =>
      html`<details><summary>${reference.project}: ${reference.title}</summary><p class="detail">${sourceOf(reference)}</p><ul class="method">${[...reference.conditions, ...reference.cautions].map((line) => html`<li>${line}</li>`)}</ul>${reference.tables.map(referenceTable)}</details>`,
  )}</section>`;
}

/** Citation in one line. */
export function sourceOf({ date, source, url }: Reference): string {
  const parts = [date === null ? 'No date is given' : formatDay(date), source, url];
  return `${parts.filter((part) => part !== null).join(', ')}.`;
}

export function columnHeading({ metric, unit, concurrency }: ReferenceTable['columns'][number]): string {
  const of = unit === '' ? metric : `${metric}, ${unit}`;
  return concurrency === null ? of : `${of} (c=${concurrency.toLocaleString('en')})`;
}

/** As it was published: no digit is added or removed. */
export function formatPublished(value: number | null): string {
  return value === null ? '' : value.toLocaleString('en', { maximumFractionDigits: 10 });
}

function referenceTable({ title, columns, rows }: ReferenceTable): Markup {
  return html`<h3>${title}</h3><div class="scroll" role="region" aria-label="${title}" tabindex="0"><table><thead><tr><th scope="col">Target</th>${columns.map(
    (column) => html`<th scope="col" class="n">${columnHeading(column)}</th>`,
  )}</tr></thead><tbody>${rows.map(
    ({ target, values }) =>
      html`<tr><th scope="row">${target}</th>${values.map((value) => html`<td class="n">${formatPublished(value)}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}
