'use client';
// Table of deployments: branch, commit, author, state, duration and time.
import { cn } from '@fairlead/ui/lib/class-names';
import { Elapsed, RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { GitBranch } from 'lucide-react';
import type { ReactNode } from 'react';
import type { DeploymentSummary } from '../../api/types.ts';
import { RowMenuHead } from '../list/row-menu.tsx';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';
import { CommitLine } from './commit-line.tsx';
import { LookText } from './state-view.tsx';
import { lookOfDeployment, nameOfRequester, triggerLabel } from './states.ts';

/** Columns that a reader can hide. */
export const deploymentColumns = [
  { name: 'commit', label: 'Commit' },
  { name: 'environment', label: 'Environment' },
  { name: 'duration', label: 'Duration' },
  { name: 'queued', label: 'Started' },
] as const;
export type DeploymentColumn = (typeof deploymentColumns)[number]['name'];

export interface DeploymentRowsProps {
  readonly deployments: readonly DeploymentSummary[];
  /** False on the page of one app. */
  readonly withApp: boolean;
  /** Renders the cell with the menu of a row. */
  readonly menuOf?: (deployment: DeploymentSummary) => ReactNode;
  /** Default: every column but the environment. */
  readonly isShown?: (column: DeploymentColumn) => boolean;
}

export function DeploymentRows({
  deployments,
  withApp,
  menuOf,
  isShown = (column) => column !== 'environment',
}: DeploymentRowsProps) {
  const { paths } = useMe();
  const hasCommit = isShown('commit');
  return (
    <Table>
      <TableHead>
        <HeadCell className={hasCommit ? '' : 'w-full'}>{withApp ? 'App' : 'Number'}</HeadCell>
        {hasCommit ? <HeadCell className="max-sm:hidden">Commit</HeadCell> : null}
        {isShown('environment') ? <HeadCell className="max-lg:hidden">Environment</HeadCell> : null}
        <HeadCell className="max-sm:pr-4">State</HeadCell>
        {isShown('duration') ? (
          <HeadCell numeric className="max-md:hidden">
            Duration
          </HeadCell>
        ) : null}
        {isShown('queued') ? (
          <HeadCell numeric className="max-sm:hidden">
            Started
          </HeadCell>
        ) : null}
        {menuOf === undefined ? null : <RowMenuHead />}
      </TableHead>
      <tbody>
        {deployments.map((deployment) => (
          <Row key={deployment.id}>
            <Cell className="max-sm:w-full max-sm:max-w-0 sm:whitespace-nowrap">
              <HoverLink href={paths.deployment(deployment.id)} {...rowLink}>
                {withApp ? deployment.appName : null}
                <span className={cn('tabular font-mono text-sm', withApp ? 'ml-1.5 font-normal text-ink-faint' : '')}>
                  #{deployment.number}
                </span>
              </HoverLink>
              <span className="block truncate text-sm text-ink-faint sm:hidden">
                <RelativeTime at={deployment.queuedAt} />
                {[branchOf(deployment), deployment.commitSubject].map((text) => (text === null ? '' : ` · ${text}`))}
              </span>
            </Cell>
            {hasCommit ? (
              <Cell className="w-full max-w-0 max-sm:hidden">
                <CommitLine
                  hash={deployment.commitHash}
                  subject={deployment.commitSubject}
                  author={deployment.commitAuthor}
                />
                <span className="mt-0.5 flex min-w-0 items-center gap-1.5 text-sm text-ink-faint">
                  <Branch name={branchOf(deployment)} />
                  <span className="truncate">
                    {triggerLabel[deployment.trigger]} by {nameOfRequester(deployment)}
                  </span>
                </span>
              </Cell>
            ) : null}
            {isShown('environment') ? (
              <Cell className="max-w-40 truncate max-lg:hidden">{deployment.environmentName}</Cell>
            ) : null}
            <Cell className="max-sm:pr-4">
              <LookText look={lookOfDeployment(deployment)} />
            </Cell>
            {isShown('duration') ? (
              <Cell numeric className="max-md:hidden">
                {deployment.startedAt === null ? (
                  '–'
                ) : (
                  <Elapsed from={deployment.queuedAt} until={deployment.finishedAt} />
                )}
              </Cell>
            ) : null}
            {isShown('queued') ? (
              <Cell numeric className="max-sm:hidden">
                <RelativeTime at={deployment.queuedAt} className="font-sans text-ink-soft" />
              </Cell>
            ) : null}
            {menuOf?.(deployment)}
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

/** Returns null for a rollback or a restart, which requests a commit by its whole hash. */
function branchOf({ ref }: DeploymentSummary): string | null {
  if (ref === '') return 'default branch';
  return /^[0-9a-f]{40}$/.test(ref) ? null : ref;
}

function Branch({ name }: { readonly name: string | null }) {
  if (name === null) return null;
  return (
    <>
      <GitBranch size={13} aria-hidden="true" className="shrink-0" />
      <span className="max-w-48 shrink-0 truncate font-mono text-xs">
        <span className="sr-only">Branch </span>
        {name}
      </span>
    </>
  );
}
