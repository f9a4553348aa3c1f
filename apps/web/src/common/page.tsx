// The column that a page stands in: up to 1200 pixels, or everything for logs and charts that want it.
import { cn } from '@fairlead/ui/lib/class-names';
import Link from 'next/link';
import type { ReactNode } from 'react';

export function Page({ children, className }: { readonly children: ReactNode; readonly className?: string }) {
  return <div className={cn('mx-auto w-full max-w-[1200px] px-4 py-6 sm:px-8 sm:py-8', className)}>{children}</div>;
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
            <Link href={item.href} className="truncate rounded-mark hover:text-ink">
              {item.title}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}
