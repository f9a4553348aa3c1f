'use client';
// Choice of a list's columns. The browser keeps the hidden ones.
import { Button } from '@fairlead/ui/button';
import { Checkbox } from '@fairlead/ui/input';
import { PopoverButton } from '@fairlead/ui/popover-button';
import { Columns3 } from 'lucide-react';
import { useSyncExternalStore } from 'react';

export interface ColumnOption<Name extends string> {
  readonly name: Name;
  readonly label: string;
  /** True if it is hidden until someone shows it. */
  readonly isHiddenFirst?: boolean;
}

export interface ColumnChoice<Name extends string> {
  readonly isShown: (name: Name) => boolean;
  readonly toggle: (name: Name) => void;
  readonly options: readonly ColumnOption<Name>[];
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

export function useColumns<Name extends string>(
  list: string,
  options: readonly ColumnOption<Name>[],
): ColumnChoice<Name> {
  const key = `fairlead.columns.${list}`;
  const first = options.flatMap(({ name, isHiddenFirst }) => (isHiddenFirst === true ? [name] : [])).join(' ');
  const stored = useSyncExternalStore(
    subscribe,
    () => read(key) ?? first,
    () => first,
  );
  const hidden = new Set<string>(stored.split(' '));
  return {
    options,
    isShown: (name) => !hidden.has(name),
    toggle: (name) => {
      const changed = new Set(hidden);
      if (!changed.delete(name)) changed.add(name);
      write(key, [...changed].filter((each) => each !== '').join(' '));
      for (const listener of listeners) listener();
    },
  };
}

/** Browsers that block storage keep the first choice. */
function read(key: string): string | null {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    window.localStorage.setItem(key, value);
  } catch {
    // The choice then lasts as long as the page would without storage: not at all.
  }
}

export function ColumnMenu<Name extends string>({ choice }: { readonly choice: ColumnChoice<Name> }) {
  return (
    <PopoverButton
      align="end"
      trigger={(trigger) => (
        <Button {...trigger} icon={<Columns3 size={15} aria-hidden="true" />} className="h-9">
          Columns
        </Button>
      )}
    >
      <fieldset className="flex flex-col p-1">
        <legend className="sr-only">Columns</legend>
        {choice.options.map(({ name, label }, index) => (
          <Checkbox
            key={name}
            label={label}
            checked={choice.isShown(name)}
            onChange={() => choice.toggle(name)}
            className="min-h-8 cursor-pointer rounded-control px-1.5 hover:bg-hover"
            {...(index === 0 ? { 'data-autofocus': '' } : {})}
          />
        ))}
      </fieldset>
    </PopoverButton>
  );
}
