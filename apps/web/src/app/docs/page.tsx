// Index of the documentation.
import type { Metadata } from 'next';
import { DOC_PAGES, docPath } from '../../common/page/docs.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { DocsFrame } from '../../features/docs/docs-frame.tsx';

export const metadata: Metadata = { title: 'Documentation' };

export default function DocsPage() {
  return (
    <DocsFrame>
      <h1 className="font-semibold text-2xl tracking-[-0.02em]">Documentation</h1>
      <p className="mt-2 text-ink-soft">For the version that this control plane runs.</p>
      <ul className="mt-6 grid gap-3 sm:grid-cols-2">
        {DOC_PAGES.map(({ name, title, summary }) => (
          <li key={name}>
            <HoverLink
              href={docPath(name)}
              className="block h-full rounded-card border border-line bg-surface px-4 py-3 hover:border-line-strong"
            >
              <span className="block font-medium">{title}</span>
              <span className="mt-0.5 block text-pretty text-ink-soft text-sm">{summary}</span>
            </HoverLink>
          </li>
        ))}
      </ul>
    </DocsFrame>
  );
}
