'use client';
// History of an app's settings in one environment: author, time and changed fields of each version, and its restore.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText } from '@fairlead/ui/state-pill';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { namedSetting } from '../../common/app/setting-fields.ts';
import { useMe } from '../../common/organization/me.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import type { SettingsPageProps } from './settings-form.tsx';

const RestoreDialog = dynamic(() => import('./restore-dialog.tsx').then((module) => module.RestoreDialog), {
  ssr: false,
});

export function HistoryCard({ slug, initial }: SettingsPageProps) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const { id: appId, environmentId } = app;
  const { can } = useMe();
  const [restored, setRestored] = useState<number | null>(null);
  const config = useQuery(trpc.config.get.queryOptions({ appId, environmentId })).data;
  const versions = useInfiniteQuery(
    trpc.config.list.infiniteQueryOptions(
      { appId, environmentId, limit: 10 },
      { getNextPageParam: (page) => page.nextCursor },
    ),
  );
  const items = versions.data?.pages.flatMap((page) => page.items) ?? [];
  if (items.length === 0) return null;
  const mayRestore = config !== undefined && can('app.write', app);
  return (
    <Card>
      <CardHeader title="Versions" detail="Each release keeps its version" />
      <ol>
        {items.map((version) => (
          <li
            key={version.id}
            className="flex min-h-12 flex-wrap items-center gap-x-4 gap-y-0.5 border-line border-t px-4 py-2"
          >
            <span className="tabular w-8 shrink-0 font-mono text-sm">{version.number}</span>
            <span className="wrap-anywhere min-w-0 flex-1 basis-48 text-sm">{labelsOf(version.changed)}</span>
            <span className="text-ink-faint text-sm">
              {version.authorName ?? 'A program'} · <RelativeTime at={version.createdAt} />
            </span>
            {version.number === config?.live?.number ? <StateText tone="live">Live</StateText> : null}
            {mayRestore ? (
              <span className="flex justify-end max-sm:ml-auto sm:w-17">
                {version.number === config.number ? (
                  <span className="text-ink-faint text-sm">Current</span>
                ) : (
                  <Button
                    size="small"
                    aria-label={`Restore version ${version.number}`}
                    onClick={() => setRestored(version.number)}
                  >
                    Restore
                  </Button>
                )}
              </span>
            ) : null}
          </li>
        ))}
      </ol>
      <LoadMore query={versions} />
      {restored === null || config === undefined ? null : (
        <RestoreDialog key={restored} app={app} config={config} number={restored} onClose={() => setRestored(null)} />
      )}
    </Card>
  );
}

function labelsOf(changed: readonly string[]): string {
  if (changed.length === 0) return 'No changes';
  return [...new Set(changed.map((name) => namedSetting(name).label))].join(', ');
}
