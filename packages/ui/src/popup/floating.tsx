// Look, place and keys that all popups share.
import { type KeyboardEvent, useLayoutEffect, useState } from 'react';
import type { PopupHandle } from '../lib/use-popup.ts';

export const SURFACE =
  'animate-arrive overflow-y-auto rounded-card border border-line bg-raised p-1 text-ink shadow-float outline-none';

interface ChangeDetails {
  readonly reason: string;
  readonly event: Event;
  readonly cancel: () => void;
}

/** State of the popup's root. It opens after its first render: Base UI moves the focus only into a popup that opens. */
export function useRootProps({ anchor, open, setOpen }: PopupHandle) {
  const [isRendered, setIsRendered] = useState(false);
  useLayoutEffect(() => setIsRendered(true), []);
  return {
    open: open && isRendered,
    onOpenChange: (isOpen: boolean, { reason, event, cancel }: ChangeDetails) => {
      const target = event instanceof FocusEvent ? event.relatedTarget : event.target;
      // A press on the button toggles: closing it here would let the click open it again.
      const isOnAnchor = target instanceof Node && anchor.contains(target);
      if (isOnAnchor && (reason === 'outside-press' || reason === 'focus-out')) cancel();
      else setOpen(isOpen);
    },
  };
}

/** Returns the focus to the button, unless the person moved it elsewhere. */
export function finalFocusOf({ id, anchor }: PopupHandle) {
  return () => {
    const { activeElement } = document;
    const isLeft = activeElement === null || activeElement === document.body;
    return isLeft || document.getElementById(id)?.contains(activeElement) === true ? anchor : false;
  };
}

/** A modal <dialog> covers everything outside: its popups are inside. */
export function portalProps({ anchor }: PopupHandle) {
  return { container: anchor.closest('dialog') ?? document.body };
}

export function positionerProps({ anchor }: PopupHandle, align: 'start' | 'end') {
  // Fixed: the edges of a dialog or of a list that scrolls do not cut it.
  const place = { positionMethod: 'fixed', sideOffset: 4, collisionPadding: 8 } as const;
  return { ...place, anchor, align, className: 'z-50 outline-none' };
}

/** Shortcuts of the page must not fire in popups. In lists, Tab closes the list and moves on from the button. */
export function listKeys({ anchor, setOpen }: PopupHandle) {
  return (event: KeyboardEvent<HTMLElement>) => {
    event.stopPropagation();
    if (event.key !== 'Tab') return;
    anchor.focus();
    setOpen(false);
  };
}
