'use client';
// History of an app's settings in one environment: author, time and changed fields.
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { namedSetting } from '../../common/app/setting-fields.ts';
import { LoadMore } from '../../common/page/load-more.tsx';
import type { SettingsPageProps } from './settings-form.tsx';

export function HistoryCard({ slug, initial }: SettingsPageProps) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const { id: appId, environmentId } = app;
  const versions = useInfiniteQuery(
    trpc.config.list.infiniteQueryOptions(
      { appId, environmentId, limit: 10 },
      { getNextPageParam: (page) => page.nextCursor },
    ),
  );
  const items = versions.data?.pages.flatMap((page) => page.items) ?? [];
  if (items.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Versions" detail="Each release keeps its version" />
      <ol>
        {items.map((version) => (
          <li
            key={version.id}
            className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 border-line border-t px-4 py-2.5"
          >
            <span className="tabular w-8 shrink-0 font-mono text-sm">{version.number}</span>
            <span className="wrap-anywhere min-w-0 flex-1 basis-48 text-sm">{labelsOf(version.changed)}</span>
            <span className="text-ink-faint text-sm">
              {version.authorName ?? 'A program'} · <RelativeTime at={version.createdAt} />
            </span>
          </li>
        ))}
      </ol>
      <LoadMore query={versions} />
    </Card>
  );
}

function labelsOf(changed: readonly string[]): string {
  if (changed.length === 0) return 'No changes';
  return [...new Set(changed.map((name) => namedSetting(name).label))].join(', ');
}
