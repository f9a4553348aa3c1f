// The places of the rail, the bottom bar, the palette and the `g` shortcuts: one list for all of them. Pure.
import { ChartSpline, Globe, LayoutGrid, type LucideIcon, Server, Settings, SquareStack, Users } from 'lucide-react';
import type { Paths } from '../common/paths.ts';

export interface Place {
  readonly title: string;
  readonly href: string;
  readonly icon: LucideIcon;
  /** Pressed after `g`. */
  readonly key: string;
  /** In the bottom bar of a phone; the rest is behind "More". */
  readonly primary: boolean;
}

export function placesOf(paths: Paths): Place[] {
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

/** The place that a path lies in: the longest address that begins it; the overview only when it is exactly that. */
export function placeOf(places: readonly Place[], pathname: string): Place | null {
  const [overview, ...rest] = places;
  if (pathname === overview?.href) return overview;
  // A deployment is reached from its app.
  const path = pathname.replace(/^(\/[^/]+)\/deployments(\/|$)/, '$1/apps$2');
  return rest.find((place) => path === place.href || path.startsWith(`${place.href}/`)) ?? null;
}
