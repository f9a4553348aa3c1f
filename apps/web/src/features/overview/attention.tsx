'use client';
// Problems that need a person, first on the overview. Shows one quiet line when there are none.
import { Button } from '@fairlead/ui/button';
import { StateMark } from '@fairlead/ui/state-pill';
import { useState } from 'react';
import type { ControlPlaneWarning, Overview } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import type { Paths } from '../../common/organization/paths.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';

type Item = Overview['attention'][number];

/** Maximum number of problems before the list is expanded: more would push everything else off the first screen. */
const SHOWN_FIRST = 4;

const BAD: ReadonlySet<string> = new Set(['deployment_failed', 'server_offline', 'disk_short', 'backup_failed']);

export interface AttentionProps {
  readonly items: readonly Item[];
  /** Problems of the control plane itself, which only operators get. They come first. */
  readonly warnings: readonly ControlPlaneWarning[];
}

export function Attention({ items: own, warnings }: AttentionProps) {
  const [all, setAll] = useState(false);
  const { paths } = useMe();
  const items = [
    ...warnings.map((warning) => ({ ...warning, key: warning.title, href: paths.controlPlane })),
    ...own.map((item) => ({ ...item, key: keyOf(item), href: hrefOf(item, paths) })),
  ];
  const shown = all ? items : items.slice(0, SHOWN_FIRST);
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
        {shown.map((item) => (
          <li
            key={item.key}
            className="relative flex gap-3 border-line border-b px-4 py-3 last:border-b-0 hover:bg-hover"
          >
            <span className="mt-1">
              <StateMark tone={BAD.has(item.kind) ? 'bad' : 'warn'} />
            </span>
            <div className="min-w-0">
              <HoverLink
                href={item.href}
                className="font-medium after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text"
              >
                {item.title}
              </HoverLink>
              <p className="text-pretty text-sm text-ink-soft">{item.detail}</p>
            </div>
          </li>
        ))}
      </ul>
      {shown.length < items.length ? (
        <div className="border-line border-t p-1.5">
          <Button variant="ghost" size="small" onClick={() => setAll(true)}>
            {items.length - shown.length} more need attention
          </Button>
        </div>
      ) : null}
    </section>
  );
}

function keyOf(item: Item): string {
  return `${item.kind} ${item.deploymentId ?? item.serverId ?? item.appSlug} ${item.environmentId} ${item.title}`;
}

function hrefOf(item: Item, paths: Paths): string {
  if (item.deploymentId !== null) return paths.deployment(item.deploymentId);
  if (item.serverId !== null) return paths.server(item.serverId);
  return item.appSlug === null ? paths.overview : paths.app(item.appSlug, item.environmentId ?? undefined);
}
