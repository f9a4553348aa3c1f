// Page frame of setup and sign-in: the logo and one column.
import { Logo } from '@fairlead/ui/logo';
import type { ReactNode } from 'react';

export interface IdentityFrameProps {
  readonly title: string;
  readonly lead: ReactNode;
  readonly children: ReactNode;
  readonly aside?: ReactNode;
}

export function IdentityFrame({ title, lead, children, aside }: IdentityFrameProps) {
  return (
    // A centred form would move when an error appears, so it begins at the top.
    <main className="mx-auto grid min-h-dvh w-full max-w-[1040px] grid-cols-1 content-start gap-x-16 gap-y-10 px-5 pt-10 pb-16 md:grid-cols-[minmax(0,26rem)_1fr] md:pt-[max(2.5rem,14vh)]">
      <div className={aside ? '' : 'md:col-span-2 md:mx-auto md:w-full md:max-w-[24rem]'}>
        {/* A full page load: the dashboard starts with its own cache. */}
        <a href="/" aria-label="Fairlead, home" className="inline-flex rounded-control">
          <Logo size={26} />
        </a>
        <h1 className="mt-10 text-2xl font-semibold tracking-[-0.02em]">{title}</h1>
        <div className="mt-2 mb-8 text-pretty text-ink-soft">{lead}</div>
        {children}
      </div>
      {aside ? <div className="md:pt-20">{aside}</div> : null}
    </main>
  );
}
