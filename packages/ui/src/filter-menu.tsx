'use client';
// Filter of a list: a button that shows the current value, with a list box of values. Arrow keys move, typing finds, Enter
// chooses. Long lists have a search field.
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import { PopoverButton } from './popover-button.tsx';

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

/** Shorter lists are searched by typing the first letters. */
const SEARCH_FROM = 9;

export function FilterMenu(props: FilterMenuProps) {
  const { label, value, text, className, onOpen } = props;
  return (
    <PopoverButton
      {...(onOpen === undefined ? {} : { onOpen })}
      trigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          aria-haspopup="listbox"
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
      )}
    >
      {(close) => <Options {...props} close={close} />}
    </PopoverButton>
  );
}

function Options(props: FilterMenuProps & { readonly close: () => void }) {
  const { label, all, value, onValueChange, onSearch, close } = props;
  const id = useId();
  const [typed, setTyped] = useState('');
  const isSearched = onSearch !== undefined || props.options.length >= SEARCH_FROM;
  const wanted = typed.trim().toLowerCase();
  const found =
    onSearch === undefined && isSearched
      ? props.options.filter((option) => option.label.toLowerCase().includes(wanted))
      : props.options;
  const options: readonly FilterOption[] = wanted === '' ? [{ value: '', label: all }, ...found] : found;
  const chosen = options.findIndex((option) => option.value === value);
  const [moved, setMoved] = useState<number | null>(null);
  const active = Math.min(moved ?? Math.max(0, chosen), options.length - 1);
  const box = useRef<HTMLDivElement>(null);
  const move = (to: number) => {
    const next = (to + options.length) % Math.max(1, options.length);
    setMoved(next);
    box.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const choose = (option: FilterOption | undefined) => {
    if (option === undefined) return;
    close();
    onValueChange(option.value);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: active + 1, ArrowUp: active - 1 };
    const jumps: Readonly<Record<string, number>> = isSearched ? {} : { Home: 0, End: options.length - 1 };
    const to = steps[event.key] ?? jumps[event.key];
    if (to !== undefined) {
      event.preventDefault();
      move(to);
    } else if (event.key === 'Enter' || (event.key === ' ' && !isSearched)) {
      event.preventDefault();
      choose(options[active]);
    } else if (event.key === 'Tab') {
      close();
    } else if (!isSearched && event.key.length === 1) {
      const letter = event.key.toLowerCase();
      const order = options.map((_, index) => (active + 1 + index) % options.length);
      const next = order.find((index) => options[index]?.label.toLowerCase().startsWith(letter));
      if (next !== undefined) move(next);
    }
  };
  const activeId = options.length === 0 ? undefined : `${id}-${active}`;
  return (
    <>
      {isSearched ? (
        <input
          data-autofocus=""
          type="text"
          role="combobox"
          aria-label={`Search ${label.toLowerCase()}`}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={activeId}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Search"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setMoved(0);
            onSearch?.(event.target.value.trim());
          }}
          onKeyDown={onKeyDown}
          className="sticky top-0 z-10 mb-1 h-8 w-full rounded-control border border-line-control bg-field px-2.5 text-ink placeholder:text-ink-faint max-sm:text-lg"
        />
      ) : null}
      <div
        ref={box}
        id={id}
        role="listbox"
        aria-label={label}
        {...(isSearched
          ? { tabIndex: -1 }
          : { tabIndex: 0, 'data-autofocus': '', 'aria-activedescendant': activeId, onKeyDown })}
        className="outline-none"
      >
        {options.map((option, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list box handles keys for its active option
          <div
            key={option.value}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={option.value === value}
            onClick={() => choose(option)}
            onPointerMove={() => setMoved(index)}
            className={cn(
              'flex min-h-8 cursor-pointer items-center gap-2.5 rounded-control px-2.5 py-1',
              index === active && 'bg-hover',
            )}
          >
            <span className="min-w-0 flex-1 truncate">
              {option.label}
              {option.hint === undefined ? null : <span className="ml-2 text-ink-faint text-sm">{option.hint}</span>}
            </span>
            <span aria-hidden="true" className="w-3">
              {option.value === value ? '✓' : ''}
            </span>
          </div>
        ))}
      </div>
      {options.length === 0 ? <p className="px-2.5 py-2 text-ink-faint text-sm">No results</p> : null}
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
