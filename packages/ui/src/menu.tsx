'use client';
// Menu button on the browser's popover: shown above everything, and closed by Escape or a press outside.
import { createContext, type KeyboardEvent, type ReactNode, useContext, useId, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import { popoverPosition } from './lib/popover-position.ts';

interface MenuHandle {
  readonly close: () => void;
}
const MenuContext = createContext<MenuHandle>({ close: () => undefined });

export interface MenuProps {
  /** Renders the button; spread `trigger` over it. */
  readonly trigger: (trigger: MenuTrigger) => ReactNode;
  readonly label: string;
  readonly align?: 'start' | 'end';
  readonly children: ReactNode;
}

export interface MenuTrigger {
  readonly ref: (element: HTMLButtonElement | null) => void;
  readonly 'aria-haspopup': 'menu';
  readonly 'aria-expanded': boolean;
  readonly 'aria-controls': string;
  readonly onClick: () => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => void;
}

export function Menu({ trigger, label, align = 'end', children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const anchor = useRef<HTMLButtonElement | null>(null);
  const popover = useRef<HTMLDivElement>(null);

  const show = () => {
    const [box, button] = [popover.current, anchor.current];
    if (box === null || button === null) return;
    box.showPopover();
    const viewport = { width: window.innerWidth, height: window.innerHeight };
    const position = popoverPosition(button.getBoundingClientRect(), box.getBoundingClientRect(), viewport, align);
    box.style.left = `${position.left}px`;
    box.style.top = `${position.top}px`;
    items(box)[0]?.focus();
  };
  const close = () => {
    popover.current?.hidePopover();
    anchor.current?.focus();
  };

  return (
    <>
      {trigger({
        ref: (element) => {
          anchor.current = element;
        },
        'aria-haspopup': 'menu',
        'aria-expanded': open,
        'aria-controls': id,
        onClick: () => (open ? close() : show()),
        onKeyDown: (event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          show();
        },
      })}
      <div
        ref={popover}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={(event) => setOpen(event.newState === 'open')}
        onKeyDown={(event) => walk(event, close)}
        className="fixed inset-auto m-0 max-h-[min(70dvh,32rem)] min-w-48 max-w-80 overflow-y-auto rounded-card border border-line bg-raised p-1 text-ink shadow-float open:animate-arrive"
      >
        <MenuContext value={{ close }}>{children}</MenuContext>
      </div>
    </>
  );
}

export interface MenuItemProps {
  readonly icon?: ReactNode;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly checked?: boolean;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

export function MenuItem({ icon, danger = false, disabled = false, checked, onSelect, children }: MenuItemProps) {
  const { close } = useContext(MenuContext);
  return (
    <button
      type="button"
      {...(checked === undefined ? { role: 'menuitem' } : { role: 'menuitemradio', 'aria-checked': checked })}
      tabIndex={-1}
      disabled={disabled}
      onClick={() => {
        close();
        onSelect();
      }}
      onPointerMove={(event) => event.currentTarget.focus()}
      className={cn(
        'flex h-8 w-full items-center gap-2.5 rounded-control px-2.5 text-left outline-none focus:bg-hover disabled:opacity-45',
        danger ? 'text-bad-text' : 'text-ink',
      )}
    >
      {icon ? <span className={cn('flex size-4 items-center', !danger && 'text-ink-faint')}>{icon}</span> : null}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {checked === true ? <span aria-hidden="true">✓</span> : null}
    </button>
  );
}

export function MenuSeparator() {
  return <hr className="-mx-1 my-1 border-line" />;
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <div className="truncate px-2.5 pt-1.5 pb-1 text-sm text-ink-faint">{children}</div>;
}

function items(box: HTMLElement): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)')];
}

function walk(event: KeyboardEvent<HTMLDivElement>, close: () => void): void {
  const all = items(event.currentTarget);
  const at = all.findIndex((item) => item.matches(':focus'));
  const move = (index: number) => {
    event.preventDefault();
    all[(index + all.length) % all.length]?.focus();
  };
  event.stopPropagation();
  if (event.key === 'ArrowDown') move(at + 1);
  else if (event.key === 'ArrowUp') move(at - 1);
  else if (event.key === 'Home') move(0);
  else if (event.key === 'End') move(all.length - 1);
  else if (event.key === 'Tab') close();
  else if (event.key === 'Escape') {
    event.preventDefault();
    close();
  } else if (event.key.length === 1) {
    const letter = event.key.toLowerCase();
    const ordered = [...all.slice(at + 1), ...all.slice(0, at + 1)];
    ordered.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter))?.focus();
  }
}
