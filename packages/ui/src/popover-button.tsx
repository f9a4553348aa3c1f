'use client';
// Button with a panel, closed by Escape or a press outside. The panel is loaded apart from the page.
import { type ReactNode, Suspense } from 'react';
import { type PopupTrigger, usePopup } from './lib/use-popup.ts';
import { PanelPopup } from './popups.tsx';

export interface PopoverButtonProps {
  /** Renders the button; spread `trigger` over it. */
  readonly trigger: (trigger: PopupTrigger) => ReactNode;
  readonly align?: 'start' | 'end';
  /** The panel; `data-autofocus` marks what has the focus first. */
  readonly children: ReactNode;
}

export function PopoverButton({ trigger, align = 'start', children }: PopoverButtonProps) {
  const popup = usePopup();
  return (
    <>
      {trigger(popup.trigger)}
      {popup.handle === null ? null : (
        <Suspense fallback={null}>
          <PanelPopup handle={popup.handle} align={align}>
            {children}
          </PanelPopup>
        </Suspense>
      )}
    </>
  );
}
