'use client';
// Tooltip on hover or focus. Never contains anything interactive.
import { type ReactNode, useId, useRef } from 'react';
import { popoverPosition } from './lib/popover-position.ts';

export interface TooltipProps {
  readonly text: ReactNode;
  readonly children: ReactNode;
}

const DELAY_MS = 250;

export function Tooltip({ text, children }: TooltipProps) {
  const id = useId();
  const anchor = useRef<HTMLSpanElement>(null);
  const box = useRef<HTMLSpanElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);

  const show = () => {
    const [tip, target] = [box.current, anchor.current];
    if (tip === null || target === null || !tip.isConnected) return;
    tip.showPopover();
    const viewport = { width: window.innerWidth, height: window.innerHeight };
    const position = popoverPosition(
      target.getBoundingClientRect(),
      tip.getBoundingClientRect(),
      viewport,
      'center',
      6,
    );
    tip.style.left = `${position.left}px`;
    tip.style.top = `${position.top}px`;
  };
  const hide = () => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    box.current?.hidePopover();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only describes what it wraps; nothing is done by pressing it
    <span
      ref={anchor}
      aria-describedby={id}
      onPointerEnter={() => {
        timer.current = setTimeout(show, DELAY_MS);
      }}
      onPointerLeave={hide}
      onFocus={show}
      onBlur={hide}
      className="inline-flex min-w-0"
    >
      {children}
      <span
        ref={box}
        id={id}
        popover="manual"
        role="tooltip"
        className="pointer-events-none fixed inset-auto m-0 max-w-72 rounded-control border border-line bg-raised px-2 py-1 text-sm text-ink shadow-float open:animate-arrive"
      >
        {text}
      </span>
    </span>
  );
}
