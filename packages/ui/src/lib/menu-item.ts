// Item of a menu. Call sites name it before the popup's code is loaded; the popup provides what renders it.
import { type ComponentType, createContext, type ReactNode } from 'react';

export interface MenuItemProps {
  readonly icon?: ReactNode;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly checked?: boolean;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

export const MenuItemContext = createContext<ComponentType<MenuItemProps> | null>(null);
