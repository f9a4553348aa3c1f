'use client';
// Panel of a popover button, on Base UI.
import { Popover } from '@base-ui/react/popover';
import { type ReactNode, useRef } from 'react';
import { cn } from '../lib/class-names.ts';
import type { PopupHandle } from '../lib/use-popup.ts';
import { finalFocusOf, portalProps, positionerProps, SURFACE, useRootProps } from './floating.tsx';

export interface PanelPopupProps {
  readonly handle: PopupHandle;
  readonly align: 'start' | 'end';
  readonly children: ReactNode;
}

export function PanelPopup({ handle, align, children }: PanelPopupProps) {
  const root = useRootProps(handle);
  const panel = useRef<HTMLDivElement>(null);
  return (
    <Popover.Root {...root}>
      <Popover.Portal {...portalProps(handle)}>
        <Popover.Positioner {...positionerProps(handle, align)}>
          <Popover.Popup
            ref={panel}
            id={handle.id}
            role="group"
            initialFocus={() => panel.current?.querySelector<HTMLElement>('[data-autofocus]') ?? true}
            finalFocus={finalFocusOf(handle)}
            onKeyDown={(event) => event.stopPropagation()}
            className={cn(
              SURFACE,
              'max-h-[min(70dvh,26rem,var(--available-height))] min-w-48 max-w-[min(20rem,calc(100vw-1rem))]',
            )}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
