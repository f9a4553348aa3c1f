'use client';
// Tabs between pages of one object (as links), and a switch between views of one chart.
import { type ReactNode, useEffect, useRef } from 'react';
import { cn } from './lib/class-names.ts';

export function TabBar({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const bar = useRef<HTMLElement>(null);
  const shown = useRef<Element | null>(null);
  // Scrolls the bar only: `scrollIntoView` would also move the page.
  useEffect(() => {
    const open = bar.current?.querySelector('[aria-current="page"]') ?? null;
    if (bar.current === null || open === null || open === shown.current) return;
    shown.current = open;
    const [box, tab] = [bar.current.getBoundingClientRect(), open.getBoundingClientRect()];
    bar.current.scrollLeft += tab.left + tab.width / 2 - (box.left + box.width / 2);
  });
  return (
    <nav
      ref={bar}
      aria-label={label}
      className="-mb-px flex gap-1 overflow-x-auto border-line border-b [scrollbar-width:none]"
    >
      {children}
    </nav>
  );
}

/** Returns the classes of a tab; the link of the open one has `aria-current="page"`. */
export function tabClass(active: boolean): string {
  return cn(
    'relative flex h-10 shrink-0 items-center gap-2 rounded-control px-3 transition-colors duration-120 focus-visible:-outline-offset-2',
    'after:absolute after:inset-x-3 after:bottom-0 after:h-0.5 after:rounded-full',
    active ? 'font-medium text-ink after:bg-accent' : 'text-ink-soft hover:text-ink',
  );
}

/** Label of a tab, as wide as in bold: its neighbours stay where they are when it opens. */
export function TabLabel({ children }: { readonly children: string }) {
  return (
    <span className="inline-grid">
      <span className="col-start-1 row-start-1">{children}</span>
      <span aria-hidden="true" className="invisible col-start-1 row-start-1 h-0 overflow-hidden font-medium">
        {children}
      </span>
    </span>
  );
}

export interface SegmentedProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onValueChange: (value: Value) => void;
  readonly className?: string;
}

export function Segmented<Value extends string>({
  label,
  value,
  options,
  onValueChange,
  className,
}: SegmentedProps<Value>) {
  return (
    <fieldset className={cn('inline-flex rounded-control border border-line bg-sunken p-0.5', className)}>
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onValueChange(option.value)}
          className={cn(
            'h-6.5 rounded-mark px-2.5 text-sm transition-colors duration-120',
            option.value === value
              ? 'bg-raised font-medium text-ink shadow-[0_0_0_1px_var(--line-strong)]'
              : 'text-ink-soft hover:text-ink',
          )}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
