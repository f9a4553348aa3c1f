'use client';
// Table of deployments: commit, author, state, duration and time.
import { cn } from '@fairlead/ui/lib/class-names';
import { Elapsed, RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { DeploymentSummary } from '../../api/types.ts';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';
import { CommitLine } from './commit-line.tsx';
import { LookText } from './state-view.tsx';
import { lookOfDeployment, nameOfRequester, triggerLabel } from './states.ts';

export interface DeploymentRowsProps {
  readonly deployments: readonly DeploymentSummary[];
  /** False on the page of one app. */
  readonly withApp: boolean;
}

export function DeploymentRows({ deployments, withApp }: DeploymentRowsProps) {
  const { paths } = useMe();
  return (
    <Table>
      <TableHead>
        <HeadCell>{withApp ? 'App' : 'Number'}</HeadCell>
        <HeadCell className="max-sm:hidden">Commit</HeadCell>
        <HeadCell className="max-sm:pr-4">State</HeadCell>
        <HeadCell numeric className="max-md:hidden">
          Duration
        </HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Started
        </HeadCell>
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
              </span>
            </Cell>
            <Cell className="max-sm:pr-4">
              <LookText look={lookOfDeployment(deployment)} />
            </Cell>
            <Cell numeric className="max-md:hidden">
              {deployment.startedAt === null ? (
                '–'
              ) : (
                <Elapsed from={deployment.startedAt} until={deployment.finishedAt} />
              )}
            </Cell>
            <Cell numeric className="max-sm:hidden">
              <RelativeTime at={deployment.queuedAt} className="font-sans text-ink-soft" />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}
