// Navigation items of the rail, the bottom bar, the palette and the `g` shortcuts. Pure.
import { ChartSpline, Globe, LayoutGrid, type LucideIcon, Server, Settings, SquareStack, Users } from 'lucide-react';
import type { Paths } from '../common/organization/paths.ts';

export interface NavItem {
  readonly title: string;
  readonly href: string;
  readonly icon: LucideIcon;
  /** Shortcut key after `g`. */
  readonly key: string;
  /** True if the item is in the bottom bar of a phone; the rest is behind "More". */
  readonly primary: boolean;
}

export function navItemsOf(paths: Paths): NavItem[] {
  return [
    { title: 'Overview', href: paths.overview, icon: LayoutGrid, key: 'o', primary: true },
    { title: 'Apps', href: paths.apps, icon: SquareStack, key: 'a', primary: true },
    { title: 'Servers', href: paths.servers, icon: Server, key: 's', primary: true },
    { title: 'Benchmarks', href: paths.benchmarks, icon: ChartSpline, key: 'b', primary: true },
    { title: 'Domains', href: paths.domains, icon: Globe, key: 'd', primary: false },
    { title: 'Members', href: paths.members, icon: Users, key: 'm', primary: false },
    { title: 'Settings', href: paths.settings, icon: Settings, key: 'e', primary: false },
  ];
}

/** Returns the item with the longest href that is a prefix of the path; the overview matches only exactly. */
export function navItemOf(items: readonly NavItem[], pathname: string): NavItem | null {
  const [overview, ...rest] = items;
  if (pathname === overview?.href) return overview;
  // Deployments belong to the Apps item.
  const path = pathname.replace(/^(\/[^/]+)\/deployments(\/|$)/, '$1/apps$2');
  return rest.find((item) => path === item.href || path.startsWith(`${item.href}/`)) ?? null;
}
