'use client';
// Cell with the menu of a row. It lies above the link of the whole row.
import { IconButton } from '@fairlead/ui/button';
import { Menu } from '@fairlead/ui/menu';
import { Cell, HeadCell } from '@fairlead/ui/table';
import { Ellipsis } from 'lucide-react';
import type { ReactNode } from 'react';

export function RowMenuHead() {
  return (
    <HeadCell className="w-0">
      <span className="sr-only">Actions</span>
    </HeadCell>
  );
}

export interface RowMenuProps {
  /** Name of the row's thing. */
  readonly name: string;
  readonly children: ReactNode;
}

export function RowMenuCell({ name, children }: RowMenuProps) {
  const label = `Actions for ${name}`;
  return (
    <Cell className="w-0 pl-0">
      <span className="relative z-10 flex justify-end">
        <Menu
          label={label}
          trigger={(trigger) => (
            <IconButton {...trigger} label={label} size="small">
              <Ellipsis size={16} aria-hidden="true" />
            </IconButton>
          )}
        >
          {children}
        </Menu>
      </span>
    </Cell>
  );
}
