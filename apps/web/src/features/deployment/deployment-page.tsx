'use client';
// One deployment: its steps as a line that fills, its log beside it within a second, and at the end the address it serves.
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { ErrorState } from '@fairlead/ui/error-state';
import { LogView } from '@fairlead/ui/log-view';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { readFailure } from '../../api/failure.ts';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { useMe } from '../../common/me.tsx';
import { Crumbs, Page } from '../../common/page.tsx';
import { LookPill } from '../../common/state-view.tsx';
import { awaitingApproval, isUnderWay, lookOfDeployment, titleOfStep } from '../../common/states.ts';
import { WaitingNote } from '../../common/waiting-note.tsx';
import { ApprovalNote } from './approval-note.tsx';
import { DeploymentActions } from './deployment-actions.tsx';
import { DeploymentFacts } from './deployment-facts.tsx';
import { DeploymentPlan, DeploymentServers, MissingNote } from './deployment-parts.tsx';
import { DeploymentSteps } from './deployment-steps.tsx';
import { useDeploymentLog } from './use-deployment-log.ts';

export interface DeploymentPageProps {
  readonly deploymentId: DeploymentDetail['id'];
  readonly initial: DeploymentDetail;
}

export function DeploymentPage({ deploymentId, initial }: DeploymentPageProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const deployment = useQuery(trpc.deployment.get.queryOptions({ deploymentId })).data ?? initial;
  return (
    <LivePage topics={[{ kind: 'deployment', id: deploymentId }]}>
      <Page width="wide">
        <PageHeader
          breadcrumb={
            <Crumbs
              items={[
                { title: 'Apps', href: paths.apps },
                { title: deployment.appName, href: paths.app(deployment.appSlug, deployment.environmentId) },
                { title: 'Deployments', href: paths.appDeployments(deployment.appSlug, deployment.environmentId) },
              ]}
            />
          }
          title={`Deployment #${deployment.number}`}
          pill={
            <LookPill
              look={deployment.approval?.state === 'pending' ? awaitingApproval : lookOfDeployment(deployment)}
            />
          }
          actions={<DeploymentActions deployment={deployment} />}
        />
        <ApprovalNote deployment={deployment} />
        {/* The question above says it already. */}
        {deployment.waiting?.reason === 'approval' ? null : <WaitingNote waiting={deployment.waiting} />}
        <Outcome deployment={deployment} />
        <MissingNote deployment={deployment} />
        <div className="grid grid-cols-1 gap-6 lg:grid-cols-[19rem_minmax(0,1fr)] lg:items-start">
          {/* On a phone the log comes before what can wait. */}
          <div className="flex flex-col gap-6 max-lg:contents lg:sticky lg:top-6">
            <Card className="p-4">
              <DeploymentSteps deployment={deployment} />
            </Card>
            <DeploymentServers servers={deployment.servers} />
            <div className="flex flex-col gap-6 max-lg:order-1">
              <DeploymentPlan deployment={deployment} />
              <DeploymentFacts deployment={deployment} />
            </div>
          </div>
          <DeploymentLogPanel deployment={deployment} />
        </div>
      </Page>
    </LivePage>
  );
}

function Outcome({ deployment }: { readonly deployment: DeploymentDetail }) {
  const trpc = useTRPC();
  const app = useQuery(
    trpc.app.get.queryOptions({ slug: deployment.appSlug, environmentId: deployment.environmentId }),
  ).data;
  if (deployment.state === 'failed') {
    return (
      <section role="alert" className="mb-6 flex gap-3 rounded-card bg-bad-wash px-4 py-3.5">
        <span className="mt-1">
          <StateMark tone="bad" />
        </span>
        <div>
          <h2 className="font-semibold text-bad-text">The deployment failed</h2>
          <p className="mt-0.5 text-pretty text-ink">
            {deployment.failureMessage ?? 'Its log says why.'} What served before still serves.
          </p>
        </div>
      </section>
    );
  }
  const url = app?.url ?? null;
  if (deployment.state !== 'live' || !deployment.isCurrent || url === null) return null;
  return (
    <section className="mb-6 flex animate-arrive items-center gap-3 rounded-card border border-line bg-surface px-4 py-4">
      <StateMark tone="live" />
      <a
        href={url}
        target="_blank"
        rel="noreferrer"
        className="min-w-0 break-all rounded-mark text-lg sm:text-xl font-semibold tracking-[-0.01em] hover:underline"
      >
        {url.replace(/^https?:\/\//, '')}
      </a>
      <CopyButton value={url} label="Copy the address" size="medium" />
    </section>
  );
}

function DeploymentLogPanel({ deployment }: { readonly deployment: DeploymentDetail }) {
  const underWay = isUnderWay(deployment.state);
  const log = useDeploymentLog(deployment.id, underWay);
  // What went well is folded once something failed: the reader came for the error.
  const folded = useMemo(
    () =>
      deployment.state === 'failed'
        ? deployment.steps.filter((step) => step.state === 'done').map((step) => step.name)
        : [],
    [deployment.state, deployment.steps],
  );
  if (!log.loaded && log.error !== null) {
    const failure = readFailure(log.error);
    return (
      <Card>
        <ErrorState
          title="The log didn't load"
          message={failure.message}
          errorId={failure.errorId ?? undefined}
          onRetry={() => void log.refetch()}
        />
      </Card>
    );
  }
  if (!log.loaded) return <Skeleton className="h-[28rem] lg:h-[calc(100dvh-12rem)]" />;
  return (
    <LogView
      lines={log.lines}
      live={underWay}
      groupTitle={titleOfStep}
      initiallyFolded={folded}
      emptyText={underWay ? 'Waiting for the first line…' : 'This deployment wrote no log.'}
      fileName={`${deployment.appSlug}-${deployment.number}.log`}
      className="h-[28rem] lg:h-[calc(100dvh-12rem)] lg:min-h-[28rem]"
    />
  );
}
