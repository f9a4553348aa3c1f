'use client';
// Lazy-loaded popups on Base UI, in one chunk. They suspend until it is loaded.
import { use } from 'react';
import type { FilterPopupProps } from './popup/filter-popup.tsx';
import type { MenuPopupProps } from './popup/menu-popup.tsx';
import type { PanelPopupProps } from './popup/panel-popup.tsx';
import type { ToastRegionProps } from './popup/toast-region.tsx';

type Popups = typeof import('./popup/popups.ts');

const RETRY_AFTER_MS = 2000;
let popups: Promise<Popups> | null = null;
let areLoaded = false;

export function arePopupsLoaded(): boolean {
  return areLoaded;
}

/** Loads the popups, once. A failure is repeated: a press without a network opens its popup when the network is back. */
export function loadPopups(): Promise<Popups> {
  if (popups === null) {
    popups = repeat();
    void popups.then(() => {
      areLoaded = true;
    });
  }
  return popups;
}

async function repeat(): Promise<Popups> {
  for (;;) {
    try {
      return await import('./popup/popups.ts');
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
    }
  }
}

export function MenuPopup(props: MenuPopupProps) {
  const { MenuPopup: Loaded } = use(loadPopups());
  return <Loaded {...props} />;
}

export function PanelPopup(props: PanelPopupProps) {
  const { PanelPopup: Loaded } = use(loadPopups());
  return <Loaded {...props} />;
}

export function FilterPopup(props: FilterPopupProps) {
  const { FilterPopup: Loaded } = use(loadPopups());
  return <Loaded {...props} />;
}

export function ToastRegion(props: ToastRegionProps) {
  const { ToastRegion: Loaded } = use(loadPopups());
  return <Loaded {...props} />;
}
