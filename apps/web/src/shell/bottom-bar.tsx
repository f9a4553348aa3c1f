'use client';
// Bottom navigation of a phone: the three most used items, search, and the rest behind "More".
import { cn } from '@fairlead/ui/lib/class-names';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { ArrowLeftRight, BookOpen, Ellipsis, LogOut, Moon, Search, Sun, UserRound } from 'lucide-react';
import { useGuardedPush } from '../common/form/unsaved-changes.tsx';
import { useSignOut } from '../common/identity/use-sign-out.ts';
import { useMe } from '../common/organization/me.tsx';
import { accountPath } from '../common/organization/paths.ts';
import { docsPath } from '../common/page/docs-paths.ts';
import { HoverLink } from '../common/page/hover-link.tsx';
import { useTheme } from '../common/theme/use-theme.ts';
import { ApprovalCount } from './approval-count.tsx';
import { type NavItem, navItemOf } from './navigation.ts';

export interface BottomBarProps {
  readonly items: readonly NavItem[];
  readonly pathname: string;
  readonly onPalette: () => void;
}

export function BottomBar({ items, pathname, onPalette }: BottomBarProps) {
  const { organization, organizations, paths, user } = useMe();
  const navigate = useGuardedPush();
  const signOut = useSignOut();
  const { isDark, setTheme } = useTheme();
  const current = navItemOf(items, pathname);
  const rest = items.filter((item) => !item.primary);
  return (
    <nav
      aria-label="Main, bottom"
      className="fixed inset-x-0 bottom-0 z-30 grid grid-cols-5 border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {items
        .filter((item) => item.primary)
        .map((item) => (
          <HoverLink
            key={item.path}
            href={item.href}
            aria-current={item === current ? 'page' : undefined}
            className={itemClass(item === current)}
          >
            <item.icon size={20} aria-hidden="true" className={item === current ? 'text-accent-text' : undefined} />
            {item.title}
          </HoverLink>
        ))}
      <button type="button" onClick={onPalette} className={itemClass(false)}>
        <Search size={20} aria-hidden="true" />
        Search
      </button>
      <Menu
        label="More"
        trigger={(trigger) => (
          <button
            {...trigger}
            type="button"
            className={cn('relative', itemClass(current !== null && !current.primary))}
          >
            <Ellipsis size={20} aria-hidden="true" />
            More
            <ApprovalCount className="absolute top-1 left-1/2 ml-2" />
          </button>
        )}
      >
        <MenuLabel>{organization.name}</MenuLabel>
        {rest.map((item) => (
          <MenuItem key={item.path} icon={<item.icon size={15} />} onSelect={() => navigate(item.href)}>
            {item.title}
            {item.path === paths.deployments ? <ApprovalCount className="ml-2" /> : null}
          </MenuItem>
        ))}
        {organizations
          .filter(({ id }) => id !== organization.id)
          .map((each) => (
            <MenuItem key={each.id} icon={<ArrowLeftRight size={15} />} onSelect={() => navigate(`/${each.slug}`)}>
              Go to {each.name}
            </MenuItem>
          ))}
        <MenuSeparator />
        <MenuItem icon={<UserRound size={15} />} onSelect={() => navigate(accountPath)}>
          Your account
        </MenuItem>
        <MenuItem icon={<BookOpen size={15} />} onSelect={() => navigate(docsPath)}>
          Documentation
        </MenuItem>
        <MenuItem
          icon={isDark ? <Sun size={15} /> : <Moon size={15} />}
          onSelect={() => setTheme(isDark ? 'light' : 'dark')}
        >
          {isDark ? 'Light theme' : 'Dark theme'}
        </MenuItem>
        <MenuItem icon={<LogOut size={15} />} onSelect={() => void signOut()}>
          Sign out {user.name}
        </MenuItem>
      </Menu>
    </nav>
  );
}

function itemClass(active: boolean): string {
  return cn(
    'flex h-14 flex-col items-center justify-center gap-0.5 text-xs focus-visible:-outline-offset-2',
    active ? 'font-medium text-ink' : 'text-ink-faint',
  );
}
