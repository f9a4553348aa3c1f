'use client';
// Filter of a list: a button that shows the current value, with a list box of values. Arrow keys move, typing finds, Enter
// chooses. Long lists have a search field. The list box is loaded apart from the page.
import { Suspense } from 'react';
import { cn } from './lib/class-names.ts';
import { usePopup } from './lib/use-popup.ts';
import { FilterPopup } from './popups.tsx';

export interface FilterOption {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

export interface FilterMenuProps {
  /** Name of the filter: State. */
  readonly label: string;
  /** Text of the option that filters nothing: Any state. */
  readonly all: string;
  /** Empty: no filter. */
  readonly value: string;
  /** Label of the value. */
  readonly text: string;
  readonly options: readonly FilterOption[];
  readonly onValueChange: (value: string) => void;
  /** Searches elsewhere, such as at the API. Without it, the options are searched here. */
  readonly onSearch?: ((text: string) => void) | undefined;
  readonly onOpen?: (() => void) | undefined;
  readonly className?: string;
}

export function FilterMenu(props: FilterMenuProps) {
  const { label, value, text, className, onOpen } = props;
  const popup = usePopup(onOpen);
  return (
    <>
      <button
        {...popup.trigger}
        type="button"
        aria-haspopup="listbox"
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          popup.openAt(event.currentTarget);
        }}
        className={cn(
          'inline-flex h-9 min-w-0 max-w-64 items-center gap-1.5 rounded-control border bg-surface px-3 transition-colors duration-120 hover:bg-sunken max-sm:w-full max-sm:max-w-none max-sm:text-lg',
          value === '' ? 'border-line-control text-ink-soft' : 'border-line-strong bg-sunken text-ink',
          className,
        )}
      >
        <span className="shrink-0 text-ink-faint">{label}:</span>{' '}
        <span className="min-w-0 flex-1 truncate text-left font-medium">{text}</span>
        <Chevron />
      </button>
      {popup.handle === null ? null : (
        <Suspense fallback={null}>
          <FilterPopup {...props} handle={popup.handle} />
        </Suspense>
      )}
    </>
  );
}

function Chevron() {
  return (
    <svg className="shrink-0 text-ink-faint" width="14" height="14" viewBox="0 0 16 16" fill="none" aria-hidden="true">
      <path d="m4.5 6.25 3.5 3.5 3.5-3.5" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
    </svg>
  );
}
