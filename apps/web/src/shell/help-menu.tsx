'use client';
// Help menu: documentation, keyboard shortcuts, and the running version with its changelog.
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { BookOpen, CircleHelp, Code, Keyboard, Newspaper } from 'lucide-react';
import { apiReferencePath, changelogPath, docsPath } from '../common/page/docs-paths.ts';
import { useNavigate } from '../common/page/navigation-progress.ts';

export interface HelpMenuProps {
  readonly version: string;
  readonly onHelp: () => void;
}

export function HelpMenu({ version, onHelp }: HelpMenuProps) {
  const navigate = useNavigate();
  return (
    <Menu
      label="Help"
      align="start"
      trigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          title="Help"
          className="flex h-8 w-full items-center gap-2.5 rounded-control px-2.5 text-left text-ink-soft hover:bg-hover hover:text-ink max-lg:justify-center max-lg:px-0"
        >
          <CircleHelp size={16} aria-hidden="true" className="shrink-0 text-ink-faint" />
          <span className="max-lg:sr-only">Help</span>
        </button>
      )}
    >
      <MenuItem icon={<BookOpen size={15} />} onSelect={() => navigate(docsPath)}>
        Documentation
      </MenuItem>
      <MenuItem icon={<Code size={15} />} onSelect={() => navigate(apiReferencePath)}>
        API reference
      </MenuItem>
      <MenuItem icon={<Keyboard size={15} />} onSelect={onHelp}>
        Keyboard shortcuts
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={<Newspaper size={15} />} onSelect={() => navigate(changelogPath)}>
        What's new
      </MenuItem>
      <MenuLabel>Fairlead {version}</MenuLabel>
    </Menu>
  );
}
