'use client';
// Card with an editable list: rows of the same few fields that can be added and removed.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { ErrorNote } from '@fairlead/ui/error-state';
import { cn } from '@fairlead/ui/lib/class-names';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';

export interface ListCardProps {
  /** Anchor for links to the card. */
  readonly id?: string;
  readonly title: string;
  readonly detail: string;
  readonly add: string;
  readonly empty: string;
  readonly error: string | undefined;
  readonly onAdd: () => void;
  readonly children: readonly ReactNode[];
}

export function ListCard({ id, title, detail, add, empty, error, onAdd, children }: ListCardProps) {
  return (
    <Card id={id} className="scroll-mt-4">
      <CardHeader title={title} detail={detail} />
      <div className="flex flex-col gap-4 border-line border-t p-4">
        {children.length === 0 ? <p className="text-ink-faint text-sm">{empty}</p> : children}
        {error === undefined ? null : (
          // The save bar names the list and moves the focus here, because the error belongs to no single field.
          <div data-invalid="" tabIndex={-1} className="outline-none">
            <ErrorNote>{error}</ErrorNote>
          </div>
        )}
        <Button className="self-start" icon={<Plus size={15} aria-hidden="true" />} onClick={onAdd}>
          {add}
        </Button>
      </div>
    </Card>
  );
}

export interface LineProps {
  readonly remove: string;
  readonly onRemove: () => void;
  /** Class of the grid's columns. Default: two of equal width. */
  readonly columns?: string;
  readonly children: ReactNode;
}

export function Line({ remove, onRemove, columns = 'sm:grid-cols-2', children }: LineProps) {
  return (
    <div className="flex items-start gap-3 max-sm:not-first:border-line max-sm:not-first:border-t max-sm:not-first:pt-4">
      <div className={cn('grid min-w-0 flex-1 gap-3', columns)}>{children}</div>
      <IconButton label={remove} className="mt-[27px]" onClick={onRemove}>
        <CrossIcon />
      </IconButton>
    </div>
  );
}

/** Gives each row a key of its own: typed text must not move when another row is removed. */
export function useRows<Item>(first: readonly Item[], save: (items: Item[]) => void) {
  const [rows, setRows] = useState(() => first.map((item, key) => ({ key, item })));
  const put = (next: typeof rows) => {
    setRows(next);
    save(next.map(({ item }) => item));
  };
  return {
    rows,
    add: (item: Item) => put([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, item }]),
    remove: (key: number) => put(rows.filter((row) => row.key !== key)),
    change: (key: number, item: Item) => put(rows.map((row) => (row.key === key ? { key, item } : row))),
  };
}
