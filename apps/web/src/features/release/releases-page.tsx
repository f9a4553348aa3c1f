'use client';
// Releases of an app: the live one, differences to each other one, and actions to roll back or promote.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { formatBytes } from '@fairlead/ui/lib/format';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Ellipsis, GitCompareArrows, MoveUpRight, Package, Undo2 } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Release } from '../../api/types.ts';
import { type AppPlacement, firstDeployHint, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

const CompareDialog = dynamic(() => import('./compare-dialog.tsx').then((module) => module.CompareDialog), {
  ssr: false,
});

export function ReleasesPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const { environmentId } = app;
  const releases = useInfiniteQuery(
    trpc.release.list.infiniteQueryOptions(
      { appId: app.id, environmentId },
      { getNextPageParam: (page) => page.nextCursor },
    ),
  );
  const [compared, setCompared] = useState<Release | null>(null);
  const live = releases.data?.pages.flatMap((page) => page.items).find((release) => release.isLive) ?? null;
  return (
    <>
      <Card>
        <CardHeader title="Releases" detail="Code, settings and secrets together" />
        <QueryView query={releases} skeleton={<SkeletonRows rows={6} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length === 0) {
              return (
                <EmptyState icon={<Package size={20} />} title="No release yet">
                  Each build that succeeds becomes one. {firstDeployHint(app)}
                </EmptyState>
              );
            }
            return (
              <>
                <ul>
                  {items.map((release) => (
                    <ReleaseRow
                      key={release.id}
                      app={app}
                      environmentId={environmentId}
                      release={release}
                      onCompare={live === null || release.isLive ? null : () => setCompared(release)}
                    />
                  ))}
                </ul>
                <LoadMore query={releases} />
              </>
            );
          }}
        </QueryView>
      </Card>
      {compared === null || live === null ? null : (
        <CompareDialog
          appId={app.id}
          environmentId={environmentId}
          from={live}
          to={compared}
          onClose={() => setCompared(null)}
          action={
            compared.isKept ? <RollBack app={app} environmentId={environmentId} release={compared} accent /> : null
          }
        />
      )}
    </>
  );
}

interface ReleaseProps {
  readonly app: AppDetail;
  readonly environmentId: string;
  readonly release: Release;
}

function ReleaseRow({
  app,
  environmentId,
  release,
  onCompare,
}: ReleaseProps & { readonly onCompare: (() => void) | null }) {
  const { can } = useMe();
  const others = app.placements.filter((placement) => placement.environmentId !== environmentId);
  const targets = others.filter((placement) =>
    can('deployment.write', { projectId: app.projectId, environmentId: placement.environmentId }),
  );
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
      <span className="tabular w-10 shrink-0 font-medium font-mono text-sm">{release.number}</span>
      <div className="min-w-0 flex-1 basis-64">
        <CommitLine hash={release.commitHash} subject={release.commitSubject} author={release.commitAuthor} />
        <p className="mt-0.5 truncate text-ink-faint text-sm">
          <RelativeTime at={release.createdAt} /> · {release.runtime} · {formatBytes(release.artifactSizeBytes)} ·{' '}
          {release.configNumber === 0 ? 'default settings' : `settings ${release.configNumber}`}
        </p>
      </div>
      <span className="flex items-center gap-2 max-sm:ml-auto">
        {release.isLive ? <StateText tone="live">Live</StateText> : null}
        {!release.isLive && !release.isKept ? <Badge>artifact removed</Badge> : null}
        {onCompare === null ? null : (
          <Button
            size="small"
            variant="ghost"
            icon={<GitCompareArrows size={14} aria-hidden="true" />}
            aria-label={`Compare release ${release.number} with the live one`}
            onClick={onCompare}
          >
            Compare
          </Button>
        )}
        {release.isLive || !release.isKept ? null : (
          <RollBack app={app} environmentId={environmentId} release={release} />
        )}
        {release.isKept && targets.length > 0 ? <Promote release={release} targets={targets} /> : null}
      </span>
    </li>
  );
}

function RollBack({ app, environmentId, release, accent = false }: ReleaseProps & { readonly accent?: boolean }) {
  const { paths, can } = useMe();
  const router = useRouter();
  const rollBack = useAction(
    useFreshMutation(useTRPC().deployment.rollback.mutationOptions()),
    "The rollback wasn't started",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  if (!can('deployment.write', { projectId: app.projectId, environmentId })) return null;
  return (
    <Button
      size={accent ? 'medium' : 'small'}
      variant={accent ? 'accent' : 'plain'}
      icon={<Undo2 size={14} aria-hidden="true" />}
      pending={rollBack.pending}
      aria-label={`Roll back to release ${release.number}`}
      title="Uses the settings and secrets it ran with. Nothing is built."
      onClick={() => rollBack.run({ appId: app.id, environmentId, releaseId: release.id })}
    >
      {accent ? `Roll back to release ${release.number}` : 'Roll back'}
    </Button>
  );
}

function Promote({ release, targets }: { readonly release: Release; readonly targets: readonly AppPlacement[] }) {
  const { paths } = useMe();
  const router = useRouter();
  const promote = useAction(
    useMutation(useTRPC().deployment.promote.mutationOptions()),
    "The release wasn't promoted",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  return (
    <Menu
      label={`More for release ${release.number}`}
      trigger={(trigger) => (
        <IconButton {...trigger} label={`More for release ${release.number}`} size="small">
          <Ellipsis size={16} aria-hidden="true" />
        </IconButton>
      )}
    >
      {targets.map(({ environmentId, environmentName }) => (
        <MenuItem
          key={environmentId}
          icon={<MoveUpRight size={15} />}
          disabled={promote.pending}
          onSelect={() => promote.run({ environmentId, releaseId: release.id })}
        >
          Promote to {environmentName}
        </MenuItem>
      ))}
    </Menu>
  );
}
