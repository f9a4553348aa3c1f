// Navigation items of the rail, the bottom bar, the palette and the `g` shortcuts. Pure.
import {
  ChartSpline,
  FolderKanban,
  Globe,
  LayoutGrid,
  type LucideIcon,
  Rocket,
  Server,
  Settings,
  ShieldCheck,
  SquareStack,
  Users,
} from 'lucide-react';
import type { Paths } from '../common/organization/paths.ts';
import { PROJECT_FILTER, projectInput } from '../common/project/project-input.ts';

export interface NavItem {
  readonly title: string;
  /** Path of its pages; `href` may add a filter to it. */
  readonly path: string;
  readonly href: string;
  readonly icon: LucideIcon;
  /** Shortcut key after `g`. */
  readonly key: string;
  /** True if the item is in the bottom bar of a phone; the rest is behind "More". */
  readonly primary: boolean;
}

/** Overview and apps keep the project that the current page shows. */
export function navItemsOf(paths: Paths, query = ''): NavItem[] {
  const items: readonly (Omit<NavItem, 'href'> & { readonly keepsProject?: true })[] = [
    { title: 'Overview', path: paths.overview, icon: LayoutGrid, key: 'o', primary: true, keepsProject: true },
    { title: 'Projects', path: paths.projects, icon: FolderKanban, key: 'p', primary: false },
    { title: 'Apps', path: paths.apps, icon: SquareStack, key: 'a', primary: true, keepsProject: true },
    { title: 'Deployments', path: paths.deployments, icon: Rocket, key: 'y', primary: false },
    { title: 'Servers', path: paths.servers, icon: Server, key: 's', primary: true },
    { title: 'Benchmarks', path: paths.benchmarks, icon: ChartSpline, key: 'b', primary: false },
    { title: 'Domains', path: paths.domains, icon: Globe, key: 'd', primary: false },
    { title: 'Certificates', path: paths.certificates, icon: ShieldCheck, key: 'c', primary: false },
    { title: 'Members', path: paths.members, icon: Users, key: 'm', primary: false },
    { title: 'Settings', path: paths.settings, icon: Settings, key: 'e', primary: false },
  ];
  const { projectId } = projectInput(new URLSearchParams(query).get(PROJECT_FILTER) ?? '');
  return items.map(({ keepsProject, ...item }) => ({
    ...item,
    href: keepsProject && projectId !== undefined ? `${item.path}?${PROJECT_FILTER}=${projectId}` : item.path,
  }));
}

/** Returns the item with the longest path that is a prefix of the path; the overview matches only exactly. */
export function navItemOf(items: readonly NavItem[], pathname: string): NavItem | null {
  const [overview, ...rest] = items;
  if (pathname === overview?.path) return overview;
  // Deliveries belong to the Deployments item.
  const path = pathname.replace(/^(\/[^/]+)\/deliveries(\/|$)/, '$1/deployments$2');
  return rest.find((item) => path === item.path || path.startsWith(`${item.path}/`)) ?? null;
}
