'use client';
// Command palette, loaded when it opens: a search field over one list of rows. The caller ranks the rows and runs them.
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import { type CommandSelection, movedId, selectedId } from './lib/command-selection.ts';

export interface CommandRow {
  readonly id: string;
  readonly title: string;
  readonly icon?: ReactNode;
  readonly hint?: ReactNode;
}

export interface CommandGroup {
  readonly heading: string;
  readonly rows: readonly CommandRow[];
}

export interface CommandDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly query: string;
  readonly onQueryChange: (query: string) => void;
  readonly placeholder: string;
  readonly groups: readonly CommandGroup[];
  readonly onSelect: (id: string) => void;
  /** Name of the level that is open, and the way back; null at the first level. */
  readonly level: { readonly title: string; readonly onBack: () => void } | null;
  /** True while results of this search are loading: Enter waits for them. */
  readonly pending: boolean;
}

export function CommandDialog(props: CommandDialogProps) {
  const { open, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (open && !element.open) {
      element.showModal();
      // The dialog would focus its first focusable element, which is not the field.
      element.querySelector('input')?.focus();
    }
    if (!open && element.open) element.close();
  }, [open]);

  return (
    <dialog
      ref={dialog}
      aria-label="Search and commands"
      onClose={onClose}
      onPointerDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
      className="mx-auto mt-[12vh] w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-card border border-line bg-raised p-0 text-ink shadow-float open:animate-arrive"
    >
      {open ? <CommandSearch {...props} /> : null}
    </dialog>
  );
}

function CommandSearch({ query, onQueryChange, placeholder, groups, onSelect, level, pending }: CommandDialogProps) {
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<CommandSelection | null>(null);
  /** Search for which Enter was pressed while its results were loading. */
  const [entered, setEntered] = useState<string | null>(null);
  const scope = `${level?.title ?? ''}\n${query}`;
  const ids = groups.flatMap(({ rows }) => rows.map(({ id }) => id));
  const selected = selectedId(ids, moved, scope);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  useEffect(() => {
    if (pending || entered === null) return;
    setEntered(null);
    if (entered === scope && selected !== undefined) onSelect(selected);
  }, [pending, entered, scope, selected, onSelect]);

  const move = (to: string | undefined) => {
    if (to !== undefined) setMoved({ scope, id: to });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const { key } = event;
    if (key === 'Backspace' && query === '' && level !== null) level.onBack();
    else if (key === 'ArrowDown') move(movedId(ids, selected, 1));
    else if (key === 'ArrowUp') move(movedId(ids, selected, -1));
    else if (key === 'Home' && query === '') move(ids[0]);
    else if (key === 'End' && query === '') move(ids.at(-1));
    // Enter that completes a word of an input method selects nothing.
    else if (key === 'Enter' && !event.nativeEvent.isComposing) {
      if (pending && moved?.scope !== scope) setEntered(scope);
      else if (selected !== undefined) onSelect(selected);
    } else return;
    event.preventDefault();
  };

  return (
    <>
      <div className="flex h-12 items-center gap-2 border-line border-b px-4">
        {level === null ? null : (
          <button
            type="button"
            onClick={level.onBack}
            aria-label={`Back from ${level.title}`}
            className="flex h-6 max-w-40 shrink-0 items-center gap-1 rounded-mark bg-sunken px-2 text-ink-soft text-sm hover:text-ink"
          >
            <span aria-hidden="true">←</span>
            <span className="truncate">{level.title}</span>
          </button>
        )}
        <input
          role="combobox"
          aria-label="Search and commands"
          aria-expanded="true"
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={selected === undefined ? undefined : `${listId}-${selected}`}
          autoComplete="off"
          spellCheck={false}
          value={query}
          onChange={(event) => onQueryChange(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={placeholder}
          className="h-full min-w-0 flex-1 bg-transparent text-lg outline-none placeholder:text-ink-faint focus-visible:outline-none"
        />
      </div>
      <div
        ref={list}
        id={listId}
        role="listbox"
        aria-label="Results"
        aria-busy={pending}
        className="max-h-[min(26rem,60vh)] overflow-y-auto p-1.5"
      >
        {groups.map(({ heading, rows }, index) => (
          <fieldset key={heading} aria-labelledby={`${listId}-group-${index}`} className="min-w-0">
            <div id={`${listId}-group-${index}`} className="px-2.5 pt-2 pb-1 text-ink-faint text-xs">
              {heading}
            </div>
            {rows.map((row) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
              // biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant of the field names the option
              <div
                key={row.id}
                id={`${listId}-${row.id}`}
                role="option"
                aria-selected={row.id === selected}
                onPointerMove={(event) => {
                  // Rows also move below a pointer at rest.
                  if (row.id !== selected && (event.movementX !== 0 || event.movementY !== 0)) move(row.id);
                }}
                onClick={() => onSelect(row.id)}
                className={cn(
                  'flex h-9 cursor-pointer items-center gap-2.5 rounded-control px-2.5',
                  row.id === selected && 'bg-hover',
                )}
              >
                <span className="flex size-4 shrink-0 items-center justify-center text-ink-faint">{row.icon}</span>
                <span className="min-w-0 flex-1 truncate">{row.title}</span>
                {row.hint ? (
                  <span className="flex max-w-[40%] shrink-0 items-center gap-1 truncate text-ink-faint text-sm">
                    {row.hint}
                  </span>
                ) : null}
              </div>
            ))}
          </fieldset>
        ))}
      </div>
      <p role="status" className={cn('px-4 text-center text-ink-faint', ids.length === 0 && 'pt-4 pb-8')}>
        {ids.length > 0 ? null : pending ? 'Searching…' : `No results for “${query.trim()}”`}
      </p>
    </>
  );
}
