'use client';
// Tables with rows that are links. Arrow keys move between rows, Home and End jump, Enter opens the link.
import type { ComponentProps, KeyboardEvent } from 'react';
import { cn } from './lib/class-names.ts';

export interface TableProps extends ComponentProps<'table'> {
  /** Accessible name of a table that scrolls, also by keyboard. Its edges are shaded where more of it follows. */
  readonly scrollLabel?: string;
}

export function Table({ className, scrollLabel, ...rest }: TableProps) {
  const table = <table {...rest} onKeyDown={walkRows} className={cn('w-full border-collapse text-left', className)} />;
  if (scrollLabel === undefined) return <div className="relative w-full overflow-x-auto">{table}</div>;
  return (
    <section
      aria-label={scrollLabel}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="scroll-shade relative w-full overflow-x-auto focus-visible:-outline-offset-2"
    >
      {table}
    </section>
  );
}

export function TableHead({ children }: { readonly children: ComponentProps<'tr'>['children'] }) {
  return (
    <thead>
      <tr className="border-line border-b">{children}</tr>
    </thead>
  );
}

export interface CellProps extends Omit<ComponentProps<'td'>, 'align'> {
  /** True to align figures at the right, with digits of equal width. */
  readonly numeric?: boolean;
}

export function HeadCell({ numeric = false, className, ...rest }: CellProps) {
  return (
    <th
      {...rest}
      scope="col"
      className={cn(
        'h-9 whitespace-nowrap px-3 text-sm font-medium text-ink-faint first:pl-4 last:pr-4',
        numeric && 'text-right',
        className,
      )}
    />
  );
}

export function Row({ className, ...rest }: ComponentProps<'tr'>) {
  return (
    <tr
      {...rest}
      className={cn(
        'relative border-line border-b transition-colors duration-120 last:border-b-0',
        'hover:bg-hover has-[[data-row-link]:focus-visible]:bg-hover',
        className,
      )}
    />
  );
}

export function Cell({ numeric = false, className, ...rest }: CellProps) {
  return (
    <td
      {...rest}
      className={cn(
        'h-12 px-3 py-2 align-middle first:pl-4 last:pr-4',
        numeric && 'tabular whitespace-nowrap text-right font-mono text-sm',
        className,
      )}
    />
  );
}

/** Props for a row's link: they stretch its target over the row, so that the whole row can be pressed. */
export const rowLink = {
  'data-row-link': '',
  className:
    'min-w-0 font-medium text-ink after:absolute after:inset-0 after:content-[""] focus-visible:outline-none ' +
    'focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text',
} as const;

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => Math.min(at + 1, count - 1),
  ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_at, count) => count - 1,
};

function walkRows(event: KeyboardEvent<HTMLTableElement>): void {
  const step = STEPS[event.key];
  if (step === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-row-link]')];
  const at = links.findIndex((link) => link.matches(':focus'));
  if (at === -1) return;
  event.preventDefault();
  links[step(at, links.length)]?.focus();
}
