'use client';
// Account menu: theme, account, sign-out.
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { LogOut, Monitor, Moon, Sun, UserRound } from 'lucide-react';
import { useGuardedPush } from '../common/form/unsaved-changes.tsx';
import { useSignOut } from '../common/identity/use-sign-out.ts';
import { useMe } from '../common/organization/me.tsx';
import { accountPath } from '../common/organization/paths.ts';
import { useTheme } from '../common/theme/use-theme.ts';

export function AccountMenu() {
  const { user } = useMe();
  const { theme, setTheme } = useTheme();
  const signOut = useSignOut();
  const navigate = useGuardedPush();
  return (
    <Menu
      label="Account"
      align="start"
      trigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          className="flex h-9 w-full min-w-0 items-center gap-2.5 rounded-control px-1.5 text-left hover:bg-hover max-lg:justify-center max-lg:px-0"
        >
          <span
            aria-hidden="true"
            className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-wash text-xs font-semibold text-accent-text"
          >
            {initialOf(user.name)}
          </span>
          <span className="sr-only">Account of</span>
          <span className="min-w-0 flex-1 truncate max-lg:sr-only">{user.name}</span>
        </button>
      )}
    >
      <MenuLabel>{user.email}</MenuLabel>
      <MenuSeparator />
      <MenuItem icon={<Monitor size={15} />} checked={theme === 'system'} onSelect={() => setTheme('system')}>
        System theme
      </MenuItem>
      <MenuItem icon={<Sun size={15} />} checked={theme === 'light'} onSelect={() => setTheme('light')}>
        Light
      </MenuItem>
      <MenuItem icon={<Moon size={15} />} checked={theme === 'dark'} onSelect={() => setTheme('dark')}>
        Dark
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={<UserRound size={15} />} onSelect={() => navigate(accountPath)}>
        Your account
      </MenuItem>
      <MenuItem icon={<LogOut size={15} />} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

function initialOf(name: string): string {
  return [...name.trim()][0]?.toUpperCase() ?? '?';
}
