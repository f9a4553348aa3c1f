'use client';
// Deployment page: steps with progress, the live log beside them, and the address once it is live.
import { Card } from '@fairlead/ui/card';
import { ErrorState } from '@fairlead/ui/error-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useMemo, useRef } from 'react';
import { readFailure } from '../../api/failure.ts';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeploymentDetail } from '../../api/types.ts';
import { WaitingNote } from '../../common/app/waiting-note.tsx';
import { LookPill } from '../../common/deployment/state-view.tsx';
import {
  awaitingApproval,
  awaitingChecks,
  isInProgress,
  lookOfDeployment,
  titleOfStep,
} from '../../common/deployment/states.ts';
import { LogView } from '../../common/log/log-view.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { TabStatus } from '../../common/page/tab-status.tsx';
import { ApprovalNote } from './approval-note.tsx';
import { DeploymentActions } from './deployment-actions.tsx';
import { DeploymentPlan, DeploymentServers, DeploymentSteps, MissingNote } from './deployment-cards.tsx';
import { DeploymentFacts } from './deployment-facts.tsx';
import { DeploymentOutcome } from './deployment-outcome.tsx';
import { DeploymentUrlCard } from './deployment-url-card.tsx';
import { type FailureExcerptLines, failingLines, failureOf } from './failing-lines.ts';
import { type DeploymentLog, useDeploymentLog } from './use-deployment-log.ts';

const GateCard = dynamic(() => import('./gate-card.tsx').then((module) => module.GateCard), { ssr: false });

export interface DeploymentPageProps {
  readonly deploymentId: DeploymentDetail['id'];
  readonly initial: DeploymentDetail;
  /** Excerpt of the log of a failed deployment, so that nothing moves once the log is read. */
  readonly initialExcerpt: FailureExcerptLines | null;
}

export function DeploymentPage({ deploymentId, initial, initialExcerpt }: DeploymentPageProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const deployment = useQuery(trpc.deployment.get.queryOptions({ deploymentId })).data ?? initial;
  return (
    <LivePage topics={[{ kind: 'deployment', id: deploymentId }]}>
      <TabStatus look={tabLookOf(deployment)} title={`${deployment.appName} #${deployment.number}`} />
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
          pill={<LookPill look={lookOf(deployment)} />}
          actions={<DeploymentActions deployment={deployment} />}
        />
        <ApprovalNote deployment={deployment} />
        {/* The approval note above already says it. */}
        {deployment.waiting?.reason === 'approval' ? null : <WaitingNote waiting={deployment.waiting} />}
        <DeploymentBody deployment={deployment} initialExcerpt={initialExcerpt} />
      </Page>
    </LivePage>
  );
}

/** Returns null for a deployment that is over and did not fail. */
function tabLookOf(deployment: DeploymentDetail) {
  return isInProgress(deployment.state) || deployment.state === 'failed' ? lookOf(deployment) : null;
}

/** Renders below the live stream's provider, which the log subscribes to. */
function lookOf(deployment: DeploymentDetail) {
  if (deployment.approval?.state === 'pending') return awaitingApproval;
  return deployment.waiting?.reason === 'checks' ? awaitingChecks : lookOfDeployment(deployment);
}

interface DeploymentBodyProps extends Pick<DeploymentPageProps, 'initialExcerpt'> {
  readonly deployment: DeploymentDetail;
}

function DeploymentBody({ deployment, initialExcerpt }: DeploymentBodyProps) {
  const log = useDeploymentLog(deployment.id, isInProgress(deployment.state));
  const panel = useRef<HTMLDivElement>(null);
  const found = useMemo(
    () => (deployment.state === 'failed' ? failingLines(log.lines, failureOf(deployment)) : null),
    [deployment, log.lines],
  );
  const excerpt = log.loaded ? found && { lines: log.lines, failing: found } : initialExcerpt;
  const mainId = excerpt?.lines[excerpt.failing.main]?.id ?? null;
  const showError = () => {
    // The log view follows the URL's hash, as for a shared link to a line.
    if (mainId !== null) window.location.hash = mainId;
    panel.current?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <>
      <DeploymentOutcome
        deployment={deployment}
        lines={excerpt?.lines ?? []}
        failing={excerpt?.failing ?? null}
        onShowError={showError}
      />
      <MissingNote deployment={deployment} />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[19rem_minmax(0,1fr)] lg:items-start">
        {/* On a phone the log comes before less important parts. */}
        <div className="flex flex-col gap-6 max-lg:contents lg:sticky lg:top-6">
          <Card className="p-4">
            <DeploymentSteps deployment={deployment} />
          </Card>
          {deployment.servers.some(({ gate }) => gate !== null) ? <GateCard servers={deployment.servers} /> : null}
          <DeploymentServers servers={deployment.servers} />
          <div className="flex flex-col gap-6 max-lg:order-1">
            <DeploymentPlan deployment={deployment} />
            <DeploymentUrlCard deployment={deployment} />
            <DeploymentFacts deployment={deployment} />
          </div>
        </div>
        <div ref={panel} className="min-w-0 scroll-mt-4">
          <DeploymentLogPanel deployment={deployment} log={log} mainErrorId={mainId} />
        </div>
      </div>
    </>
  );
}

interface DeploymentLogPanelProps {
  readonly deployment: DeploymentDetail;
  readonly log: DeploymentLog;
  readonly mainErrorId: string | null;
}

function DeploymentLogPanel({ deployment, log, mainErrorId }: DeploymentLogPanelProps) {
  const inProgress = isInProgress(deployment.state);
  // After a failure, successful steps are folded: the reader looks for the error.
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
  return (
    <div className="h-[28rem] lg:h-[calc(100dvh-12rem)] lg:min-h-[28rem]">
      {log.loaded ? (
        <LogView
          lines={log.lines}
          live={inProgress}
          numbered
          groupTitle={titleOfStep}
          initiallyFolded={folded}
          mainErrorId={mainErrorId}
          empty={inProgress ? 'Waiting for the first log line…' : 'This deployment wrote no log.'}
          fileName={`${deployment.appSlug}-${deployment.number}.log`}
          className="h-full"
        />
      ) : (
        <Skeleton className="h-full" />
      )}
    </div>
  );
}
