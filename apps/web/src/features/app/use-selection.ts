'use client';
// Rows of a list that a reader selected, up to a bound. They stay selected while filters change.
import { useState } from 'react';

export interface Selection<Item> {
  readonly items: readonly Item[];
  readonly isFull: boolean;
  readonly has: (id: string) => boolean;
  readonly toggle: (item: Item) => void;
  readonly add: (items: readonly Item[]) => void;
  readonly clear: () => void;
}

export function useSelection<Item extends { readonly id: string }>(itemsMax: number): Selection<Item> {
  const [items, setItems] = useState<readonly Item[]>([]);
  const has = (id: string) => items.some((item) => item.id === id);
  return {
    items,
    isFull: items.length >= itemsMax,
    has,
    toggle: (item) =>
      setItems(has(item.id) ? items.filter(({ id }) => id !== item.id) : [...items, item].slice(0, itemsMax)),
    add: (more) => setItems([...items, ...more.filter(({ id }) => !has(id))].slice(0, itemsMax)),
    clear: () => setItems([]),
  };
}
