'use client';
// Menu button. Arrow down opens it too; the popup is loaded apart from the page.
import { type KeyboardEvent, type ReactNode, Suspense, useContext } from 'react';
import { MenuItemContext, type MenuItemProps } from './lib/menu-item.ts';
import { type PopupTrigger, usePopup } from './lib/use-popup.ts';
import { MenuPopup } from './popups.tsx';

export interface MenuProps {
  /** Renders the button; spread `trigger` over it. */
  readonly trigger: (trigger: MenuTrigger) => ReactNode;
  readonly label: string;
  readonly align?: 'start' | 'end';
  readonly children: ReactNode;
}

export interface MenuTrigger extends PopupTrigger {
  readonly 'aria-haspopup': 'menu';
  readonly onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => void;
}

export function Menu({ trigger, label, align = 'end', children }: MenuProps) {
  const popup = usePopup();
  return (
    <>
      {trigger({
        ...popup.trigger,
        'aria-haspopup': 'menu',
        onKeyDown: (event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          popup.openAt(event.currentTarget);
        },
      })}
      {popup.handle === null ? null : (
        <Suspense fallback={null}>
          <MenuPopup handle={popup.handle} label={label} align={align}>
            {children}
          </MenuPopup>
        </Suspense>
      )}
    </>
  );
}

export function MenuItem(props: MenuItemProps) {
  const Item = useContext(MenuItemContext);
  return Item === null ? null : <Item {...props} />;
}

export function MenuSeparator() {
  return <hr className="-mx-1 my-1 border-line" />;
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <div className="truncate px-2.5 pt-1.5 pb-1 text-sm text-ink-faint">{children}</div>;
}
