// Page of its own for a problem outside of an organization: the logo, what happened, and the ways on.
import { buttonClass } from '@fairlead/ui/button';
import { Logo } from '@fairlead/ui/logo';
import type { ReactNode } from 'react';
import { docsPath } from './docs-paths.ts';

export interface ProblemPageProps {
  readonly children: ReactNode;
}

export function ProblemPage({ children }: ProblemPageProps) {
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex items-center justify-between gap-4 px-5 py-4 sm:px-8">
        {/* Full page loads: the client's state may be part of the problem. */}
        <a href="/" aria-label="Fairlead, home" className="rounded-control">
          <Logo size={24} />
        </a>
        <nav aria-label="Main" className="flex gap-1">
          <a href="/" className={buttonClass('ghost', 'small')}>
            Dashboard
          </a>
          <a href={docsPath} className={buttonClass('ghost', 'small')}>
            Documentation
          </a>
        </nav>
      </header>
      <main className="grid flex-1 place-content-center pb-16">{children}</main>
    </div>
  );
}
