// Page frame of set-up and sign-in: the logo and one column.
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
    <main className="mx-auto grid min-h-dvh w-full max-w-[1040px] content-center gap-x-16 gap-y-10 px-5 py-10 md:grid-cols-[minmax(0,26rem)_1fr]">
      <div className={aside ? '' : 'md:col-span-2 md:mx-auto md:w-full md:max-w-[24rem]'}>
        <Logo size={26} />
        <h1 className="mt-10 text-2xl font-semibold tracking-[-0.02em]">{title}</h1>
        <div className="mt-2 mb-8 text-pretty text-ink-soft">{lead}</div>
        {children}
      </div>
      {aside ? <div className="self-center">{aside}</div> : null}
    </main>
  );
}
