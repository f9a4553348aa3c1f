'use client';
// Command palette, loaded when it opens: a search field over one list of rows, on Base UI. The caller ranks the rows and
// runs them.
import { Autocomplete } from '@base-ui/react/autocomplete';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';

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
      {/* Each level begins at its first row. */}
      {open ? <CommandSearch key={props.level?.title} {...props} /> : null}
    </dialog>
  );
}

function CommandSearch({ query, onQueryChange, placeholder, groups, onSelect, level, pending }: CommandDialogProps) {
  const scope = `${level?.title ?? ''}\n${query}`;
  const [highlighted, setHighlighted] = useState<CommandRow | undefined>();
  /** Row to which the person moved the highlight, and in which search. */
  const [moved, setMoved] = useState<{ readonly scope: string; readonly id: string | undefined } | null>(null);
  /** Search for which Enter was pressed while its results were loading. */
  const [entered, setEntered] = useState<string | null>(null);
  const items = groups.map(({ heading, rows }) => ({ value: heading, items: rows }));
  const first = groups[0]?.rows[0]?.id;

  useEffect(() => {
    if (pending || entered === null) return;
    setEntered(null);
    if (entered === scope && first !== undefined) onSelect(first);
  }, [pending, entered, scope, first, onSelect]);

  return (
    <Autocomplete.Root
      open
      inline
      mode="none"
      items={items}
      itemToStringValue={(row: CommandRow) => row.title}
      value={query}
      onValueChange={(text, { reason }) => {
        if (reason === 'input-change') onQueryChange(text);
      }}
      autoHighlight="always"
      keepHighlight
      onItemHighlighted={(row, { reason }) => {
        setHighlighted(row);
        if (reason === 'keyboard' || reason === 'pointer') setMoved({ scope, id: row?.id });
      }}
    >
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
        <Autocomplete.Input
          autoFocus
          aria-label="Search and commands"
          spellCheck={false}
          onKeyDown={(event) => {
            if (event.key === 'Backspace' && query === '' && level !== null) {
              event.preventDefault();
              level.onBack();
            } else if (event.key === 'Enter') {
              // Ignores Enter from a held key or an input method (IME).
              const isIgnored = event.repeat || event.nativeEvent.isComposing;
              const waits = pending && moved?.scope !== scope;
              // If late results moved another row under the highlight, this Enter only confirms it; the next one runs it.
              const isOther = moved?.scope === scope && moved.id !== highlighted?.id;
              if (isIgnored || waits || isOther) event.preventBaseUIHandler();
              if (isIgnored) return;
              if (waits) setEntered(scope);
              else if (isOther) setMoved({ scope, id: highlighted?.id });
            }
          }}
          placeholder={placeholder}
          className="h-full min-w-0 flex-1 bg-transparent text-lg outline-none placeholder:text-ink-faint focus-visible:outline-none"
        />
      </div>
      <Autocomplete.List
        aria-label="Results"
        aria-busy={pending}
        className="max-h-[min(26rem,60vh)] overflow-y-auto p-1.5"
      >
        {(group: (typeof items)[number]) => (
          <Autocomplete.Group key={group.value} items={group.items}>
            <Autocomplete.GroupLabel className="px-2.5 pt-2 pb-1 text-ink-faint text-xs">
              {group.value}
            </Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(row: CommandRow) => (
                <Autocomplete.Item
                  key={row.id}
                  value={row}
                  aria-selected={row.id === highlighted?.id}
                  onClick={() => onSelect(row.id)}
                  className="flex h-9 cursor-pointer items-center gap-2.5 rounded-control px-2.5 data-highlighted:bg-hover"
                >
                  <span className="flex size-4 shrink-0 items-center justify-center text-ink-faint">{row.icon}</span>
                  <span className="min-w-0 flex-1 truncate">{row.title}</span>
                  {row.hint ? (
                    <span className="flex max-w-[40%] shrink-0 items-center gap-1 truncate text-ink-faint text-sm">
                      {row.hint}
                    </span>
                  ) : null}
                </Autocomplete.Item>
              )}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
      <p role="status" className={cn('px-4 text-center text-ink-faint', first === undefined && 'pt-4 pb-8')}>
        {first !== undefined ? null : pending ? 'Searching…' : `No results for “${query.trim()}”`}
      </p>
    </Autocomplete.Root>
  );
}
