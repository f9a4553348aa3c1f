'use client';
// Search field of a list. `/` focuses the one on the page; Escape clears it, then leaves it.
import type { ComponentProps } from 'react';
import { Kbd } from './kbd.tsx';
import { cn } from './lib/class-names.ts';
import { useEarlyInput } from './lib/use-early-input.ts';

export interface SearchInputProps extends Omit<ComponentProps<'input'>, 'onChange' | 'value' | 'type' | 'ref'> {
  readonly label: string;
  readonly value: string;
  readonly onValueChange: (value: string) => void;
}

export function SearchInput({ label, value, onValueChange, className, ...rest }: SearchInputProps) {
  const input = useEarlyInput<HTMLInputElement>();
  return (
    <span className={cn('group relative inline-flex w-full', className)}>
      <svg
        className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-ink-faint"
        width="15"
        height="15"
        viewBox="0 0 16 16"
        fill="none"
        aria-hidden="true"
      >
        <circle cx="7" cy="7" r="4.5" stroke="currentColor" strokeWidth="1.5" />
        <path d="m10.5 10.5 3 3" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
      </svg>
      <input
        {...rest}
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        data-page-search=""
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onValueChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          if (value === '') input.current?.blur();
          else onValueChange('');
        }}
        className="h-9 w-full rounded-control border max-sm:text-lg border-line-control bg-field pr-8 pl-8 text-ink transition-colors duration-120 placeholder:text-ink-faint hover:border-ink-faint [&::-webkit-search-cancel-button]:hidden"
      />
      <span className="pointer-events-none absolute top-1/2 right-2 hidden -translate-y-1/2 group-focus-within:hidden sm:inline-flex">
        {value === '' ? <Kbd>/</Kbd> : null}
      </span>
    </span>
  );
}
