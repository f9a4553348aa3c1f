// State label with a shape, a word and a colour. Invariant: readable without the colour.
import type { ReactNode } from 'react';
import { cn } from './lib/class-names.ts';

export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle' | 'live';
export type Shape = 'dot' | 'ring' | 'half' | 'cross' | 'dash' | 'tick' | 'bang';

const TEXT: Record<Tone, string> = {
  ok: 'text-ok-text',
  busy: 'text-busy-text',
  warn: 'text-warn-text',
  bad: 'text-bad-text',
  idle: 'text-ink-faint',
  live: 'text-ok-text',
};

const WASH: Record<Tone, string> = {
  ok: 'bg-ok-wash',
  busy: 'bg-busy-wash',
  warn: 'bg-warn-wash',
  bad: 'bg-bad-wash',
  idle: 'bg-sunken',
  live: 'bg-ok-wash',
};

const DEFAULT_SHAPE: Record<Tone, Shape> = {
  ok: 'tick',
  busy: 'half',
  warn: 'bang',
  bad: 'cross',
  idle: 'ring',
  live: 'dot',
};

export interface StateProps {
  readonly tone: Tone;
  readonly shape?: Shape;
  readonly children: ReactNode;
  readonly className?: string;
}

/** State with a tinted background, for headers and cards. */
export function StatePill({ tone, shape, children, className }: StateProps) {
  return (
    <span
      className={cn(
        'inline-flex h-6 items-center gap-1.5 whitespace-nowrap rounded-full pr-2.5 pl-2 text-sm font-medium',
        TEXT[tone],
        WASH[tone],
        className,
      )}
    >
      <StateMark tone={tone} shape={shape ?? DEFAULT_SHAPE[tone]} />
      {children}
    </span>
  );
}

/** State without a background, for table columns. */
export function StateText({ tone, shape, children, className }: StateProps) {
  return (
    <span className={cn('inline-flex items-center gap-1.5 whitespace-nowrap text-sm', TEXT[tone], className)}>
      <StateMark tone={tone} shape={shape ?? DEFAULT_SHAPE[tone]} />
      {children}
    </span>
  );
}

export function StateMark({ tone, shape }: { readonly tone: Tone; readonly shape?: Shape }) {
  const drawn = shape ?? DEFAULT_SHAPE[tone];
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 12 12"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={cn(
        'shrink-0',
        TEXT[tone],
        drawn === 'half' && 'animate-spin',
        tone === 'live' && 'rounded-full animate-live',
      )}
    >
      {SHAPE[drawn]}
    </svg>
  );
}

const SHAPE: Record<Shape, ReactNode> = {
  dot: <circle cx="6" cy="6" r="3.5" fill="currentColor" stroke="none" />,
  ring: <circle cx="6" cy="6" r="3.6" />,
  half: (
    <>
      <circle cx="6" cy="6" r="4.2" strokeOpacity="0.28" />
      <path d="M6 1.8a4.2 4.2 0 0 1 4.2 4.2" />
    </>
  ),
  cross: <path d="m2.75 2.75 6.5 6.5m0-6.5-6.5 6.5" />,
  dash: <path d="M2.5 6h7" />,
  tick: <path d="m2.25 6.4 2.5 2.6 5-5.75" />,
  bang: <path d="M6 1.9v4.8M6 9.9v.1" />,
};

export function Badge({ children, className }: { readonly children: ReactNode; readonly className?: string }) {
  return (
    <span
      className={cn(
        'inline-flex h-5 items-center rounded-mark border border-line bg-sunken px-1.5 text-xs font-medium text-ink-soft',
        className,
      )}
    >
      {children}
    </span>
  );
}
