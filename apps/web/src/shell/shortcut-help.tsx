'use client';
// Dialog with every keyboard shortcut.
import { Dialog } from '@fairlead/ui/dialog';
import { Kbd } from '@fairlead/ui/kbd';
import { useCommandKey } from '../common/page/command-key.ts';
import type { NavItem } from './navigation.ts';

export interface ShortcutHelpProps {
  readonly open: boolean;
  readonly items: readonly NavItem[];
  readonly onClose: () => void;
}

export function ShortcutHelp({ open, items, onClose }: ShortcutHelpProps) {
  const commandKey = useCommandKey();
  const rows = [
    { keys: [commandKey, 'K'], what: 'Search and commands' },
    { keys: ['/'], what: 'Search the list or the log of the page' },
    { keys: ['↑', '↓'], what: 'Move between table rows' },
    { keys: ['←', '→'], what: 'Move the cursor of a focused chart' },
    ...items.map((item) => ({ keys: ['g', item.key], what: `Go to ${item.title}` })),
    { keys: ['Esc'], what: 'Close dialog or menu' },
    { keys: ['?'], what: 'Keyboard shortcuts' },
  ];
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <ul className="grid gap-x-8 gap-y-2.5 sm:grid-cols-2">
        {rows.map((row) => (
          <li key={row.what} className="flex items-center gap-3">
            <span className="flex w-16 shrink-0 gap-1">
              {row.keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </span>
            <span className="text-ink-soft">{row.what}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
