// Addresses of links in the documentation, as the dashboard serves it. Pure.
import { DOC_PAGES, docPath } from '../../common/page/docs.ts';
import { changelogPath } from '../../common/page/docs-paths.ts';

/** Returns null for a file that the dashboard doesn't serve: its name stays as text. */
export function hrefOfDoc(href: string): string | null {
  if (href.startsWith('#') || /^https?:\/\//.test(href)) return href;
  const [, file, anchor = ''] = /^([\w./-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (file === '../CHANGELOG') return changelogPath;
  const page = DOC_PAGES.find(({ name, file: known = name }) => known === file);
  return page === undefined ? null : `${docPath(page.name)}${anchor}`;
}
