// Column of a page: at most 1200 pixels, or the full width for logs and charts.
import { cn } from '@fairlead/ui/lib/class-names';
import type { ReactNode } from 'react';
import { HoverLink } from './hover-link.tsx';

export interface PageProps {
  /** Wide: for logs. */
  readonly width?: 'normal' | 'wide';
  readonly children: ReactNode;
}

const WIDTH = { normal: 'max-w-[1264px]', wide: 'max-w-[1664px]' } as const;

export function Page({ width = 'normal', children }: PageProps) {
  return <div className={cn('page mx-auto w-full px-4 py-6 sm:px-8 sm:py-8', WIDTH[width])}>{children}</div>;
}

export interface Crumb {
  readonly title: string;
  readonly href: string;
}

export function Crumbs({ items }: { readonly items: readonly Crumb[] }) {
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="flex min-w-0 items-center gap-1.5">
        {items.map((item) => (
          <li
            key={item.href}
            className="flex min-w-0 items-center gap-1.5 not-first:before:text-line-strong not-first:before:content-['/']"
          >
            <HoverLink href={item.href} className="truncate rounded-mark hover:text-ink">
              {item.title}
            </HoverLink>
          </li>
        ))}
      </ol>
    </nav>
  );
}
