// Header of a page: breadcrumb, title and state, main action, other actions.
import type { ReactNode } from 'react';

export interface PageHeaderProps {
  readonly breadcrumb?: ReactNode;
  readonly title: ReactNode;
  readonly pill?: ReactNode;
  readonly detail?: ReactNode;
  readonly actions?: ReactNode;
  readonly tabs?: ReactNode;
}

export function PageHeader({ breadcrumb, title, pill, detail, actions, tabs }: PageHeaderProps) {
  return (
    <header className="mb-6">
      {breadcrumb ? (
        <div className="mb-2 flex min-w-0 items-center gap-1.5 text-sm text-ink-faint">{breadcrumb}</div>
      ) : null}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-3">
        <h1 className="min-w-0 truncate text-xl font-semibold tracking-[-0.015em] text-ink">{title}</h1>
        {pill}
        {actions ? <div className="ml-auto flex items-center gap-2">{actions}</div> : null}
      </div>
      {detail ? <div className="mt-1.5 text-ink-soft">{detail}</div> : null}
      {tabs ? <div className="mt-4">{tabs}</div> : null}
    </header>
  );
}
