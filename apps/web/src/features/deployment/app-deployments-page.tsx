'use client';
// Deployments of one app in one environment, newest first. A row with a release can be rolled back to, compared and
// promoted.
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Elapsed, RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, DeploymentSummary } from '../../api/types.ts';
import { firstDeployHint, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { type DeploymentUrlView, useDeploymentUrls, VisitLink } from '../../common/deployment/deployment-url.tsx';
import { LookText } from '../../common/deployment/state-view.tsx';
import { lookOfDeployment, nameOfRequester, triggerLabel } from '../../common/deployment/states.ts';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { ReleaseActions, RollbackButton } from './release-actions.tsx';
import { type ReleaseOfRow, releaseLimit, releasesOfRows } from './releases-of-rows.ts';
import { useDeploymentFilters, useDeploymentInput } from './use-deployment-filters.ts';

const CompareDialog = dynamic(() => import('./compare-dialog.tsx').then((module) => module.CompareDialog), {
  ssr: false,
});

/** Deployment and the release that it made live. */
interface Shown {
  readonly number: number;
  readonly row: ReleaseOfRow;
}

export function AppDeploymentsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const { search, ...common } = useDeploymentFilters();
  const filters = [common.state, common.branch, common.author, common.from, common.to];
  const active = activeFilters(search.value, filters);
  const deployments = useInfiniteQuery({
    ...trpc.deployment.list.infiniteQueryOptions(
      { ...useDeploymentInput(search.value, [...filters, common.order]), ...placement },
      { getNextPageParam: (page) => page.nextCursor },
    ),
    placeholderData: keepPreviousData,
  });
  const releases = useQuery(trpc.release.list.queryOptions({ ...placement, limit: releaseLimit })).data?.items ?? [];
  const { sentence, urlOf } = useDeploymentUrls(placement);
  const [compared, setCompared] = useState<Shown | null>(null);
  const items = deployments.data?.pages.flatMap((page) => page.items) ?? [];
  const rows = releasesOfRows(items, releases);
  const live = releases.find((release) => release.isLive) ?? null;
  return (
    <>
      <FilterBar search={search} filters={filters} sort={common.order} />
      <Card>
        <QueryView query={deployments} skeleton={<SkeletonRows rows={8} />}>
          {(data) => {
            if (items.length === 0) {
              return active.length > 0 ? (
                <NoMatches noun="deployments" active={active} />
              ) : (
                <EmptyState title="No deployments yet">{firstDeployHint(app)}</EmptyState>
              );
            }
            return (
              <>
                <Rows
                  app={app}
                  deployments={items}
                  rows={rows}
                  urlOf={urlOf}
                  onCompare={live === null ? null : setCompared}
                />
                <ListFooter
                  query={deployments}
                  shown={items.length}
                  total={data.pages[0]?.total ?? null}
                  noun={['deployment', 'deployments']}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
      {sentence === null ? null : <p className="mt-3 px-4 text-pretty text-ink-faint text-sm">{sentence}</p>}
      {compared === null || live === null ? null : (
        <CompareDialog
          {...placement}
          from={live}
          to={compared.row.release}
          fromNumber={items.find(({ isCurrent }) => isCurrent)?.number ?? null}
          toNumber={compared.number}
          onClose={() => setCompared(null)}
          action={
            compared.row.release.isKept ? (
              <RollbackButton app={app} number={compared.number} release={compared.row.release} />
            ) : null
          }
        />
      )}
    </>
  );
}

interface RowsProps {
  readonly app: AppDetail;
  readonly deployments: readonly DeploymentSummary[];
  readonly rows: ReadonlyMap<string, ReleaseOfRow>;
  readonly urlOf: DeploymentUrlView['urlOf'];
  readonly onCompare: ((shown: Shown) => void) | null;
}

function Rows({ app, deployments, rows, urlOf, onCompare }: RowsProps) {
  const { paths } = useMe();
  return (
    <Table>
      <TableHead>
        <HeadCell>Number</HeadCell>
        <HeadCell className="max-sm:hidden">Commit</HeadCell>
        <HeadCell>State</HeadCell>
        <HeadCell numeric className="max-lg:hidden">
          Duration
        </HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Started
        </HeadCell>
        <HeadCell>
          <span className="sr-only">Actions</span>
        </HeadCell>
      </TableHead>
      <tbody>
        {deployments.map((deployment) => {
          const row = rows.get(deployment.id);
          const url = row === undefined ? null : urlOf(row.release.id);
          return (
            <Row key={deployment.id}>
              <Cell className="max-sm:w-full max-sm:max-w-0 sm:whitespace-nowrap">
                <HoverLink href={paths.deployment(deployment.id)} {...rowLink}>
                  <span className="tabular font-mono text-sm">#{deployment.number}</span>
                </HoverLink>
                <span className="block truncate text-sm text-ink-faint sm:hidden">
                  <RelativeTime at={deployment.queuedAt} /> ·{' '}
                  {deployment.commitSubject ?? (deployment.ref || 'default branch')}
                </span>
              </Cell>
              <Cell className="w-full max-w-0 max-sm:hidden">
                <CommitLine
                  hash={deployment.commitHash}
                  subject={deployment.commitSubject}
                  author={deployment.commitAuthor}
                  fallback={deployment.ref || 'default branch'}
                />
                <span className="mt-0.5 block truncate text-sm text-ink-faint">
                  {triggerLabel[deployment.trigger]} by {nameOfRequester(deployment)}
                  {row === undefined ? null : ` · ${settingsLabel(row)}`}
                </span>
              </Cell>
              <Cell className="whitespace-nowrap">
                <LookText look={lookOfDeployment(deployment)} />
                <span className="block text-ink-faint text-sm">{releaseNote(row)}</span>
              </Cell>
              <Cell numeric className="max-lg:hidden">
                {deployment.startedAt === null ? (
                  '–'
                ) : (
                  <Elapsed from={deployment.queuedAt} until={deployment.finishedAt} />
                )}
              </Cell>
              <Cell numeric className="max-sm:hidden">
                <RelativeTime at={deployment.queuedAt} className="font-sans text-ink-soft" />
              </Cell>
              {/* Lies above the link of the whole row. */}
              <Cell className="whitespace-nowrap text-right">
                <span className="relative z-1 inline-flex items-center gap-1">
                  {url === null ? null : (
                    <VisitLink url={url} label={`#${deployment.number}`} className="max-md:hidden" />
                  )}
                  {row === undefined ? null : (
                    <ReleaseActions
                      app={app}
                      number={deployment.number}
                      release={row.release}
                      canRollBack={row.canRollBack}
                      onCompare={
                        onCompare === null || row.release.isLive
                          ? null
                          : () => onCompare({ number: deployment.number, row })
                      }
                    />
                  )}
                </span>
              </Cell>
            </Row>
          );
        })}
      </tbody>
    </Table>
  );
}

function settingsLabel({ release: { configNumber } }: ReleaseOfRow): string {
  return configNumber === 0 ? 'default settings' : `settings ${configNumber}`;
}

function releaseNote(row: ReleaseOfRow | undefined): string | null {
  if (row === undefined || row.release.isLive) return null;
  if (row.canRollBack) return 'Rollback available';
  return row.release.isKept ? null : 'Artifact removed';
}
