// Placeholder of an empty list: explains what will appear, with the action that creates it.
import type { ReactNode } from 'react';
import { cn } from './lib/class-names.ts';

export interface EmptyStateProps {
  readonly icon?: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** Heading level; 1 if it is the only content of the page. */
  readonly level?: 1 | 2;
  readonly className?: string;
}

export function EmptyState({ icon, title, children, action, level = 2, className }: EmptyStateProps) {
  const Heading = level === 1 ? 'h1' : 'h2';
  return (
    <div className={cn('flex flex-col items-center px-6 py-12 text-center', className)}>
      {icon ? (
        <div className="mb-4 flex size-10 items-center justify-center rounded-card border border-line bg-sunken text-ink-faint">
          {icon}
        </div>
      ) : null}
      <Heading className="text-lg font-semibold text-ink">{title}</Heading>
      {children ? <div className="mt-1.5 max-w-[46ch] text-pretty text-ink-soft">{children}</div> : null}
      {action ? <div className="mt-5 flex flex-wrap items-center justify-center gap-2">{action}</div> : null}
    </div>
  );
}
