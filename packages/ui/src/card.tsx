// Card with an optional title row.
import type { ComponentProps, ReactNode } from 'react';
import { cn } from './lib/class-names.ts';

export function Card({ className, ...rest }: ComponentProps<'section'>) {
  return <section {...rest} className={cn('min-w-0 rounded-card border border-line bg-surface', className)} />;
}

export interface CardHeaderProps {
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  readonly action?: ReactNode;
  readonly className?: string;
  readonly level?: 2 | 3;
}

export function CardHeader({ title, detail, action, className, level = 2 }: CardHeaderProps) {
  const Heading = level === 2 ? 'h2' : 'h3';
  return (
    <header className={cn('flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2', className)}>
      <Heading className={cn('font-semibold text-ink', level === 2 && 'text-lg')}>{title}</Heading>
      {detail ? <span className="text-sm text-ink-faint">{detail}</span> : null}
      {action ? <span className="ml-auto flex items-center gap-2">{action}</span> : null}
    </header>
  );
}

/** List of terms with their values. */
export function Facts({ items, className }: { readonly items: readonly Fact[]; readonly className?: string }) {
  return (
    <dl className={cn('grid gap-x-6 gap-y-3', className)}>
      {items.map((item) => (
        <div key={item.term} className="min-w-0">
          <dt className="text-sm text-ink-faint">{item.term}</dt>
          <dd className="mt-0.5 min-w-0 break-words text-ink">{item.value}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface Fact {
  readonly term: string;
  readonly value: ReactNode;
}
