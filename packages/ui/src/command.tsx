'use client';
// Parts of the command palette, loaded when it opens. The caller supplies the commands.
import { Command } from 'cmdk';
import { type ReactNode, useEffect, useRef } from 'react';
import { commandScore } from './lib/command-score.ts';

export interface CommandDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly query: string;
  readonly onQueryChange: (query: string) => void;
  readonly placeholder: string;
  readonly children: ReactNode;
}

export function CommandDialog({ open, onClose, query, onQueryChange, placeholder, children }: CommandDialogProps) {
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
      {open ? (
        <Command label="Search and commands" loop filter={commandScore}>
          <Command.Input
            value={query}
            onValueChange={onQueryChange}
            placeholder={placeholder}
            className="h-12 w-full border-line border-b bg-transparent px-4 text-lg outline-none placeholder:text-ink-faint focus-visible:outline-none"
          />
          <Command.List className="max-h-[min(26rem,60vh)] overflow-y-auto p-1.5 outline-none">
            <Command.Empty className="px-3 py-8 text-center text-ink-faint">Nothing fits “{query}”.</Command.Empty>
            {children}
          </Command.List>
        </Command>
      ) : null}
    </dialog>
  );
}

export function CommandGroup({ heading, children }: { readonly heading: string; readonly children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-ink-faint"
    >
      {children}
    </Command.Group>
  );
}

export interface CommandItemProps {
  /** Unique value; the search matches it and the keywords. */
  readonly value: string;
  /** Name of the page that it opens, which comes before commands with that name. */
  readonly keywords?: string[];
  readonly icon?: ReactNode;
  readonly hint?: ReactNode;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

export function CommandItem({ value, keywords, icon, hint, onSelect, children }: CommandItemProps) {
  return (
    <Command.Item
      value={value}
      {...(keywords === undefined ? {} : { keywords })}
      onSelect={onSelect}
      className="flex h-9 cursor-pointer items-center gap-2.5 rounded-control px-2.5 data-[selected=true]:bg-hover"
    >
      <span className="flex size-4 shrink-0 items-center justify-center text-ink-faint">{icon}</span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {hint ? <span className="flex shrink-0 items-center gap-1 text-sm text-ink-faint">{hint}</span> : null}
    </Command.Item>
  );
}
