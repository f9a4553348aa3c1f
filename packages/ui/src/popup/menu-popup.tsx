'use client';
// Popup of a menu, on Base UI.
import { Menu } from '@base-ui/react/menu';
import { createContext, type ReactNode, useContext, useLayoutEffect, useRef } from 'react';
import { cn } from '../lib/class-names.ts';
import { MenuItemContext, type MenuItemProps } from '../lib/menu-item.ts';
import type { PopupHandle } from '../lib/use-popup.ts';
import { finalFocusOf, listKeys, portalProps, positionerProps, SURFACE, useRootProps } from './floating.tsx';

const AnchorContext = createContext<HTMLElement | null>(null);

export interface MenuPopupProps {
  readonly handle: PopupHandle;
  readonly label: string;
  readonly align: 'start' | 'end';
  readonly children: ReactNode;
}

export function MenuPopup({ handle, label, align, children }: MenuPopupProps) {
  const root = useRootProps(handle);
  return (
    <Menu.Root {...root} modal={false}>
      <Menu.Portal {...portalProps(handle)}>
        <Menu.Positioner {...positionerProps(handle, align)}>
          <Menu.Popup
            id={handle.id}
            aria-label={label}
            finalFocus={finalFocusOf(handle)}
            onKeyDown={listKeys(handle)}
            className={cn(SURFACE, 'max-h-[min(70dvh,32rem,var(--available-height))] min-w-48 max-w-80')}
          >
            <AnchorContext value={handle.anchor}>
              <MenuItemContext value={Item}>{children}</MenuItemContext>
            </AnchorContext>
            <FirstItemFocus />
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

/** Focuses the first item as the menu opens, before another key is pressed. Base UI does so for its own trigger only. */
function FirstItemFocus() {
  const mark = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    // Base UI knows its items once all of them are in place.
    queueMicrotask(() => {
      const item = mark.current?.parentElement?.querySelector<HTMLElement>('[role^="menuitem"]:not([data-disabled])');
      item?.focus({ preventScroll: true });
    });
  }, []);
  return <span ref={mark} hidden />;
}

function Item({ icon, danger = false, disabled = false, checked, onSelect, children }: MenuItemProps) {
  const anchor = useContext(AnchorContext);
  return (
    <Menu.Item
      {...(checked === undefined ? {} : { role: 'menuitemradio', 'aria-checked': checked })}
      disabled={disabled}
      onClick={() => {
        // Base UI focuses a hovered item one frame later. A dialog that opens then returns the focus to the button.
        requestAnimationFrame(() => {
          anchor?.focus();
          onSelect();
        });
      }}
      className={cn(
        'flex h-8 w-full cursor-pointer items-center gap-2.5 rounded-control px-2.5 text-left outline-none data-disabled:cursor-default data-highlighted:bg-hover data-disabled:opacity-45',
        danger ? 'text-bad-text' : 'text-ink',
      )}
    >
      {icon ? <span className={cn('flex size-4 items-center', !danger && 'text-ink-faint')}>{icon}</span> : null}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {checked === true ? <span aria-hidden="true">✓</span> : null}
    </Menu.Item>
  );
}
