'use client';
// Navigation rail: pages, help, account, and the connection status. Shows icons only on narrow screens.
import { Kbd } from '@fairlead/ui/kbd';
import { cn } from '@fairlead/ui/lib/class-names';
import { LogoMark } from '@fairlead/ui/logo';
import { Search } from 'lucide-react';
import { useMe } from '../common/organization/me.tsx';
import { useCommandKey } from '../common/page/command-key.ts';
import { HoverLink } from '../common/page/hover-link.tsx';
import { AccountMenu } from './account-menu.tsx';
import { ApprovalCount } from './approval-count.tsx';
import type { ConnectionState } from './connection-state.ts';
import { ControlHealth } from './control-health.tsx';
import { HelpMenu } from './help-menu.tsx';
import { type NavItem, navItemOf } from './navigation.ts';
import { OrganizationMenu } from './organization-menu.tsx';

export interface RailProps {
  readonly items: readonly NavItem[];
  readonly pathname: string;
  readonly connection: ConnectionState;
  readonly version: string;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}

export function Rail({ items, pathname, connection, version, onPalette, onHelp }: RailProps) {
  const { paths } = useMe();
  const commandKey = useCommandKey();
  const current = navItemOf(items, pathname);
  return (
    <aside
      aria-label="Sidebar"
      className="sticky top-0 flex h-dvh flex-col gap-1 border-line border-r bg-sunken px-2 py-3 max-md:hidden"
    >
      <div className="mb-2 flex items-center gap-2 lg:px-1">
        <HoverLink
          href={items[0]?.href ?? '/'}
          aria-label="Fairlead, overview"
          className="flex size-9 shrink-0 items-center justify-center rounded-control text-ink max-lg:mx-auto lg:size-8"
        >
          <LogoMark size={22} />
        </HoverLink>
        <div className="min-w-0 flex-1 max-lg:hidden">
          <OrganizationMenu />
        </div>
      </div>
      <button
        type="button"
        onClick={onPalette}
        className="mb-2 flex h-8 items-center gap-2 rounded-control border border-line bg-surface px-2 text-ink-faint transition-colors duration-120 hover:border-line-strong hover:text-ink max-lg:justify-center"
      >
        <Search size={15} aria-hidden="true" />
        <span className="max-lg:sr-only">
          Search<span className="sr-only"> and commands</span>
        </span>
        <span aria-hidden="true" className="ml-auto flex gap-0.5 max-lg:hidden">
          <Kbd>{commandKey}</Kbd>
          <Kbd>K</Kbd>
        </span>
      </button>
      <nav aria-label="Main">
        <ul className="flex flex-col gap-0.5">
          {items.map((item) => (
            <li key={item.path}>
              <HoverLink
                href={item.href}
                aria-current={item === current ? 'page' : undefined}
                title={item.title}
                className={cn(
                  'group relative flex h-8 items-center gap-2.5 rounded-control px-2.5 transition-colors duration-120 max-lg:justify-center max-lg:px-0',
                  item === current
                    ? 'bg-surface font-medium text-ink shadow-[0_0_0_1px_var(--line)]'
                    : 'text-ink-soft hover:bg-hover hover:text-ink',
                )}
              >
                <item.icon
                  size={16}
                  aria-hidden="true"
                  className={cn('shrink-0', item === current ? 'text-accent-text' : 'text-ink-faint')}
                />
                <span className="max-lg:sr-only">{item.title}</span>
                {item.path === paths.deployments ? (
                  <ApprovalCount className="ml-auto max-lg:absolute max-lg:top-0 max-lg:right-0" />
                ) : null}
              </HoverLink>
            </li>
          ))}
        </ul>
      </nav>
      <div className="mt-auto flex flex-col gap-1">
        <ControlHealth state={connection} />
        <HelpMenu version={version} onHelp={onHelp} />
        <AccountMenu />
      </div>
    </aside>
  );
}
