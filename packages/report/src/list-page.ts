// List of reports: the first page of a static folder.
import { formatDay, plural } from './format.ts';
import { html, type Markup } from './markup.ts';
import { mark, type Report, shell } from './page.ts';

export interface ListEntry {
  readonly report: Report;
  /** Address of its page, relative to the list. */
  readonly url: string;
}

export function renderList(entries: readonly ListEntry[], after: Markup | ''): string {
  return shell({
    title: 'Benchmark reports of Fairlead',
    description: 'Measured results of Fairlead and other proxies, with their raw rows.',
    imageUrl: null,
    isIndexed: true,
    body: html`<header class="page">${mark()}<h1>Benchmark reports</h1></header><main><section><h2>Measured here</h2>${
      entries.length === 0 ? html`<p>No rows are committed yet.</p>` : entries.map(entryOf)
    }</section>${after}</main><footer>Rendered by Fairlead from committed rows alone. These pages have no script.</footer>`,
  });
}

function entryOf({ report: { document, headline }, url }: ListEntry): Markup {
  return html`<h3><a href="${url}">${document.title}</a></h3><p class="meta">${formatDay(document.createdAt)}, ${plural(document.rows.length, 'raw row')}</p><p>${headline.text}</p>`;
}
