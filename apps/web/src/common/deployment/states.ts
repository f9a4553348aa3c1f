// Tone, shape and label of each state, the same on every page. Pure.
import type { Shape, Tone } from '@fairlead/ui/state-pill';
import type {
  AppSummary,
  BenchmarkSummary,
  DeploymentDetail,
  DeploymentSummary,
  ServerSummary,
} from '../../api/types.ts';

export interface StateLook {
  readonly tone: Tone;
  readonly shape?: Shape;
  readonly label: string;
}

type DeploymentState = DeploymentSummary['state'];

export const deploymentLook: Record<DeploymentState, StateLook> = {
  queued: { tone: 'idle', shape: 'ring', label: 'Queued' },
  building: { tone: 'busy', shape: 'half', label: 'Building' },
  releasing: { tone: 'busy', shape: 'half', label: 'Releasing' },
  rolling_out: { tone: 'busy', shape: 'half', label: 'Rolling out' },
  live: { tone: 'ok', shape: 'tick', label: 'Succeeded' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  cancelled: { tone: 'idle', shape: 'dash', label: 'Cancelled' },
  superseded: { tone: 'idle', shape: 'dash', label: 'Superseded' },
};

/** Look of a queued deployment that waits for checks at GitHub. */
export const awaitingChecks: StateLook = { tone: 'busy', shape: 'half', label: 'Waiting for checks' };

/** Look of a queued deployment that no worker takes before another member approves it. */
export const awaitingApproval: StateLook = { tone: 'warn', shape: 'bang', label: 'Waiting for approval' };

/** Returns "Queued" for a build that its server has taken and not begun. */
export function lookOfState(
  state: DeploymentState,
  { awaitsBuild }: Pick<DeploymentSummary, 'awaitsBuild'>,
): StateLook {
  return deploymentLook[awaitsBuild ? 'queued' : state];
}

/** Returns "Live" only for a deployment that still serves; an older one merely succeeded. */
export function lookOfDeployment(
  deployment: Pick<DeploymentSummary, 'state' | 'isCurrent' | 'awaitsBuild'>,
): StateLook {
  if (deployment.state === 'live' && deployment.isCurrent) return { tone: 'live', shape: 'dot', label: 'Live' };
  return lookOfState(deployment.state, deployment);
}

export function isInProgress(state: DeploymentState): boolean {
  return state === 'queued' || state === 'building' || state === 'releasing' || state === 'rolling_out';
}

export const appLook: Record<AppSummary['status'], StateLook> = {
  healthy: { tone: 'live', shape: 'dot', label: 'Live' },
  deploying: { tone: 'busy', shape: 'half', label: 'Deploying' },
  unhealthy: { tone: 'warn', shape: 'bang', label: 'Unhealthy' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  server_offline: { tone: 'warn', shape: 'bang', label: 'Server offline' },
  not_deployed: { tone: 'idle', shape: 'ring', label: 'Not deployed' },
};

export const serverLook: Record<ServerSummary['state'], StateLook> = {
  online: { tone: 'ok', shape: 'dot', label: 'Online' },
  offline: { tone: 'bad', shape: 'cross', label: 'Offline' },
  never_connected: { tone: 'idle', shape: 'ring', label: 'Never connected' },
};

export const benchmarkLook: Record<BenchmarkSummary['state'], StateLook> = {
  queued: { tone: 'idle', shape: 'ring', label: 'Queued' },
  running: { tone: 'busy', shape: 'half', label: 'Running' },
  succeeded: { tone: 'ok', shape: 'tick', label: 'Succeeded' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  cancelled: { tone: 'idle', shape: 'dash', label: 'Cancelled' },
};

/** Outcome of a run's thresholds; null without thresholds. */
export const outcomeLook: Record<BenchmarkSummary['outcome'], StateLook | null> = {
  passed: { tone: 'ok', shape: 'tick', label: 'Passed' },
  failed: { tone: 'bad', shape: 'cross', label: 'Missed' },
  none: null,
};

type StepName = DeploymentDetail['steps'][number]['name'];

export const stepTitle: Record<StepName, string> = {
  queue: 'Queue',
  clone: 'Clone',
  build: 'Build',
  pack: 'Pack',
  fetch: 'Fetch',
  release: 'Release command',
  start: 'Start',
  health: 'Health check',
  benchmark: 'Benchmark gate',
  canary: 'Canary',
  switch: 'Switch traffic',
  drain: 'Drain old release',
  after: 'Post-release command',
};

export function titleOfStep(name: string): string {
  return Object.entries(stepTitle).find(([key]) => key === name)?.[1] ?? (name === '' ? 'Log' : name);
}

export const triggerLabel: Record<DeploymentSummary['trigger'], string> = {
  manual: 'Deployed manually',
  api: 'Deployed',
  system: 'Deployed automatically',
  redeploy: 'Redeployed',
  rollback: 'Rolled back',
  push: 'Pushed',
  pull_request: 'Pushed to pull request',
  secret: 'Secrets applied',
  restart: 'Restarted',
  retry: 'Retried',
  promote: 'Promoted',
  upload: 'Uploaded',
};

/** Returns the name of the requester, as in "Deployed by API token of Ada". */
export function nameOfRequester(
  deployment: Pick<DeploymentSummary, 'actorName' | 'requestedByName' | 'trigger' | 'push' | 'commitAuthor'>,
): string {
  const { actorName, requestedByName, trigger } = deployment;
  const pusher =
    trigger === 'push' || trigger === 'pull_request' ? deployment.push?.sender || deployment.commitAuthor : null;
  if (pusher) return pusher;
  if (actorName !== null) return actorName;
  if (requestedByName !== null) return `API token of ${requestedByName}`;
  return trigger === 'api' ? 'API token' : 'Fairlead';
}

export interface Decision {
  readonly term: 'Approved' | 'Rejected';
  readonly by: string;
}

/** Returns the decision about a deployment to a protected environment; null if there is none. */
export function decisionOf({
  approval,
}: {
  readonly approval: Pick<NonNullable<DeploymentDetail['approval']>, 'state' | 'decidedByName'> | null;
}): Decision | null {
  if (approval?.state !== 'approved' && approval?.state !== 'refused') return null;
  return {
    term: approval.state === 'approved' ? 'Approved' : 'Rejected',
    by: approval.decidedByName ?? 'a former member',
  };
}

export const deploymentStates = Object.keys(deploymentLook) as DeploymentState[];

export function isDeploymentState(text: string): text is DeploymentState {
  return Object.hasOwn(deploymentLook, text);
}
