'use client';
// What needs a person, first on the page. When nothing does, it says so in one quiet line.
import { StateMark } from '@fairlead/ui/state-pill';
import Link from 'next/link';
import type { Overview } from '../../api/types.ts';
import { useMe } from '../../common/me.tsx';
import type { Paths } from '../../common/paths.ts';

type Item = Overview['attention'][number];

export function Attention({ items }: { readonly items: readonly Item[] }) {
  const { paths } = useMe();
  if (items.length === 0) {
    return (
      <p className="flex min-h-11 items-center gap-2.5 rounded-card border border-line bg-surface px-4 text-ink-soft">
        <StateMark tone="ok" />
        Nothing needs your attention.
      </p>
    );
  }
  return (
    <section aria-label="Needs attention" className="overflow-hidden rounded-card border border-line bg-surface">
      <ul>
        {items.map((item) => (
          <li
            key={`${item.kind} ${item.deploymentId ?? item.serverId ?? item.appSlug}`}
            className="relative flex gap-3 border-line border-b px-4 py-3 last:border-b-0 hover:bg-hover"
          >
            <span className="mt-1">
              <StateMark tone={item.kind === 'deployment_failed' || item.kind === 'server_offline' ? 'bad' : 'warn'} />
            </span>
            <div className="min-w-0">
              <Link
                href={hrefOf(item, paths)}
                className="font-medium after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text"
              >
                {item.title}
              </Link>
              <p className="text-pretty text-sm text-ink-soft">{item.detail}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function hrefOf(item: Item, paths: Paths): string {
  if (item.deploymentId !== null) return paths.deployment(item.deploymentId);
  if (item.serverId !== null) return paths.server(item.serverId);
  return item.appSlug === null ? paths.overview : paths.app(item.appSlug);
}
