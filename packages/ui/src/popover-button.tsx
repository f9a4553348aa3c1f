'use client';
// Button with a panel on the browser's popover: shown above everything, closed by Escape or a press outside. The panel is
// rendered only while it is open.
import { type ReactNode, useCallback, useId, useLayoutEffect, useRef, useState } from 'react';
import { cn } from './lib/class-names.ts';
import { popoverPosition } from './lib/popover-position.ts';

export interface PopoverTrigger {
  readonly ref: (element: HTMLButtonElement | null) => void;
  readonly 'aria-expanded': boolean;
  readonly 'aria-controls': string | undefined;
  readonly onClick: () => void;
}

export interface PopoverButtonProps {
  /** Renders the button; spread `trigger` over it. */
  readonly trigger: (trigger: PopoverTrigger) => ReactNode;
  readonly align?: 'start' | 'end';
  readonly className?: string;
  /** Runs when the panel opens. */
  readonly onOpen?: () => void;
  /** Renders the panel's content; `close` closes it and focuses the button. */
  readonly children: (close: () => void) => ReactNode;
}

export function PopoverButton({ trigger, align = 'start', className, onOpen, children }: PopoverButtonProps) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const anchor = useRef<HTMLButtonElement | null>(null);
  const panel = useRef<HTMLDivElement>(null);
  const setAnchor = useCallback((element: HTMLButtonElement | null) => {
    anchor.current = element;
  }, []);

  useLayoutEffect(() => {
    const [box, button] = [panel.current, anchor.current];
    if (!open || box === null || button === null) return;
    box.showPopover();
    const viewport = { width: window.innerWidth, height: window.innerHeight };
    const position = popoverPosition(button.getBoundingClientRect(), box.getBoundingClientRect(), viewport, align);
    box.style.left = `${position.left}px`;
    box.style.top = `${position.top}px`;
    box.querySelector<HTMLElement>('[data-autofocus]')?.focus();
  }, [open, align]);

  const close = () => {
    setOpen(false);
    anchor.current?.focus();
  };
  return (
    <>
      {trigger({
        ref: setAnchor,
        'aria-expanded': open,
        'aria-controls': open ? id : undefined,
        onClick: () => {
          if (!open) onOpen?.();
          setOpen(!open);
        },
      })}
      {open ? (
        // biome-ignore lint/a11y/useSemanticElements: browsers lay a fieldset out in their own way
        <div
          ref={panel}
          id={id}
          role="group"
          popover="auto"
          onToggle={(event) => {
            if (event.newState === 'closed') setOpen(false);
          }}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key !== 'Escape') return;
            event.preventDefault();
            close();
          }}
          className={cn(
            'fixed inset-auto m-0 max-h-[min(70dvh,26rem)] min-w-48 max-w-[min(20rem,calc(100vw-1rem))] overflow-y-auto rounded-card border border-line bg-raised p-1 text-ink shadow-float open:animate-arrive',
            className,
          )}
        >
          {children(close)}
        </div>
      ) : null}
    </>
  );
}
