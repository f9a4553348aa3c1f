// State of a button with a popup. The popup's code is loaded later: a press before that opens it once it is loaded,
// unless the focus is elsewhere by then.
import { type MouseEvent, useId, useState } from 'react';
import { arePopupsLoaded, loadPopups } from '../popups.tsx';

export interface PopupTrigger {
  readonly 'aria-expanded': boolean;
  readonly 'aria-controls': string | undefined;
  readonly onClick: (event: MouseEvent<HTMLButtonElement>) => void;
}

/** Button and state of a popup that was opened at least once. */
export interface PopupHandle {
  readonly id: string;
  readonly anchor: HTMLElement;
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
}

export interface Popup {
  readonly trigger: PopupTrigger;
  /** Null until it opens for the first time. */
  readonly handle: PopupHandle | null;
  readonly openAt: (anchor: HTMLElement) => void;
}

export function usePopup(onOpen?: () => void): Popup {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const show = (element: HTMLElement) => {
    setAnchor(element);
    setOpen(true);
  };
  const openAt = (element: HTMLElement) => {
    if (!open) onOpen?.();
    if (arePopupsLoaded()) show(element);
    // A popup takes the focus: a key that is pressed in a field meanwhile must not run one of its items.
    else void loadPopups().then(() => isAt(element) && show(element));
  };
  return {
    trigger: {
      'aria-expanded': open,
      'aria-controls': open ? id : undefined,
      onClick: (event) => (open ? setOpen(false) : openAt(event.currentTarget)),
    },
    handle: anchor === null ? null : { id, anchor, open, setOpen },
    openAt,
  };
}

/** Some browsers don't focus a button that is pressed. */
function isAt(anchor: HTMLElement): boolean {
  return anchor.isConnected && [anchor, document.body].includes(document.activeElement as HTMLElement);
}
