// What stands where nothing is yet: what will be here, and the one step that brings it.
import type { ReactNode } from 'react';
import { cn } from './lib/class-names.ts';

export interface EmptyStateProps {
  readonly icon?: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** 1 when it is all that the page has. */
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
