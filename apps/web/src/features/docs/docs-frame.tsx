// Frame of the documentation: its pages at the side, one page beside them.
import { cn } from '@fairlead/ui/lib/class-names';
import type { ReactNode } from 'react';
import { DOC_PAGES, docPath } from '../../common/page/docs.ts';
import { apiReferencePath, changelogPath, docsPath } from '../../common/page/docs-paths.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';

const LINKS = [
  ...DOC_PAGES.map(({ name, title }) => ({ title, href: docPath(name) })),
  { title: 'API reference', href: apiReferencePath },
  { title: "What's new", href: changelogPath },
];

export interface DocsFrameProps {
  /** Path of the shown page; the index if undefined. */
  readonly current?: string;
  readonly children: ReactNode;
}

export function DocsFrame({ current, children }: DocsFrameProps) {
  return (
    <main>
      <Page>
        <div className="mb-6 text-ink-soft text-sm">
          <Crumbs
            items={[
              { title: 'Dashboard', href: '/' },
              { title: 'Documentation', href: docsPath },
            ]}
          />
        </div>
        <div className="grid gap-10 lg:grid-cols-[200px_minmax(0,1fr)]">
          <nav aria-label="Documentation" className="max-lg:hidden lg:sticky lg:top-8 lg:self-start">
            <ul className="flex flex-col gap-0.5">
              {LINKS.map(({ title, href }) => (
                <li key={href}>
                  <HoverLink
                    href={href}
                    aria-current={href === current ? 'page' : undefined}
                    className={cn(
                      'flex h-8 items-center rounded-control px-2.5 hover:bg-hover',
                      href === current
                        ? 'bg-surface font-medium text-ink shadow-[0_0_0_1px_var(--line)]'
                        : 'text-ink-soft',
                    )}
                  >
                    {title}
                  </HoverLink>
                </li>
              ))}
            </ul>
          </nav>
          <article className="min-w-0 max-w-[76ch] pb-16">{children}</article>
        </div>
      </Page>
    </main>
  );
}
