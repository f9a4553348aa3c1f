// Calls that report about a commit: check runs, commit statuses and deployments.
import { ownerAndName } from './convert.ts';
import { ask, requestOf, type TransportOptions } from './transport.ts';

/** A repository, with a token that may write to it. */
export interface RepositoryPlace {
  readonly baseUrl: string;
  readonly token: string;
  readonly fullName: string;
}

export interface CheckRun {
  readonly name: string;
  readonly status: 'queued' | 'in_progress' | 'completed';
  readonly conclusion?: 'success' | 'failure' | 'cancelled' | 'skipped';
  readonly startedAt?: Date;
  readonly completedAt?: Date;
  readonly title: string;
  readonly summary: string;
  readonly text?: string;
  readonly annotations?: readonly { readonly path: string; readonly line: number; readonly message: string }[];
  /** Buttons of a completed check run, three at most. */
  readonly actions?: readonly { readonly identifier: string; readonly label: string; readonly description: string }[];
}

export interface NewCheckRun extends CheckRun {
  readonly commitHash: string;
  readonly externalId: string;
  readonly detailsUrl: string | null;
}

export interface CommitStatus {
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly context: string;
  readonly description: string;
  readonly targetUrl: string | null;
}

export interface NewDeployment {
  readonly commitHash: string;
  readonly environment: string;
  readonly isProduction: boolean;
  readonly description: string;
  /** Id that finds it again. */
  readonly externalId: string;
}

export interface DeploymentStatus {
  readonly state: 'queued' | 'in_progress' | 'success' | 'failure' | 'error' | 'inactive';
  readonly logUrl: string | null;
  readonly environmentUrl: string | null;
  readonly description: string;
}

export interface Reporting {
  /** Returns the check run with this external id; null: there is none. */
  findCheckRun(place: RepositoryPlace, commitHash: string, externalId: string): Promise<number | null>;
  createCheckRun(place: RepositoryPlace, checkRun: NewCheckRun): Promise<number>;
  /** GitHub adds the annotations of each change to those that the check run has. */
  hasAnnotations(place: RepositoryPlace, id: number): Promise<boolean>;
  updateCheckRun(place: RepositoryPlace, id: number, checkRun: CheckRun): Promise<void>;
  createStatus(place: RepositoryPlace, commitHash: string, status: CommitStatus): Promise<void>;
  /** Reports whether this is the newest status in its context. */
  hasStatus(place: RepositoryPlace, commitHash: string, status: CommitStatus): Promise<boolean>;
  /** Returns the deployment with this external id; null: there is none. */
  findDeployment(place: RepositoryPlace, commitHash: string, externalId: string): Promise<number | null>;
  createDeployment(place: RepositoryPlace, deployment: NewDeployment): Promise<number>;
  createDeploymentStatus(place: RepositoryPlace, id: number, status: DeploymentStatus): Promise<void>;
  /** Reports whether this is the newest status of the deployment. */
  hasDeploymentStatus(place: RepositoryPlace, id: number, status: DeploymentStatus): Promise<boolean>;
}

const pageSize = 100;

export function createReporting(options: TransportOptions): Reporting {
  const at = ({ baseUrl, token, fullName }: RepositoryPlace) => ({
    request: requestOf(options, baseUrl, token),
    path: ownerAndName(fullName),
  });
  return {
    findCheckRun: (place, commitHash, externalId) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const query = { ...path, ref: commitHash, filter: 'all', per_page: pageSize } as const;
        const { data } = await request('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', query);
        return data.check_runs.find(({ external_id: id }) => id === externalId)?.id ?? null;
      }).then(toNumber),

    createCheckRun: (place, { commitHash, externalId, detailsUrl, ...checkRun }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const { data } = await request('POST /repos/{owner}/{repo}/check-runs', {
          ...path,
          ...toCheckRun(checkRun),
          head_sha: commitHash,
          external_id: externalId,
          ...(detailsUrl === null ? {} : { details_url: detailsUrl }),
        });
        return Number(data.id);
      }),

    hasAnnotations: (place, id) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const { data } = await request('GET /repos/{owner}/{repo}/check-runs/{check_run_id}', {
          ...path,
          check_run_id: id,
        });
        return data.output.annotations_count > 0;
      }),

    updateCheckRun: (place, id, checkRun) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const change = { ...path, check_run_id: id, ...toCheckRun(checkRun) };
        await request('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', change);
      }),

    createStatus: (place, commitHash, { state, context, description, targetUrl }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const status = { state, context, description: clip(description), target_url: targetUrl };
        await request('POST /repos/{owner}/{repo}/statuses/{sha}', { ...path, sha: commitHash, ...status });
      }),

    hasStatus: (place, commitHash, { state, context, description }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const query = { ...path, ref: commitHash, per_page: pageSize };
        const { data } = await request('GET /repos/{owner}/{repo}/commits/{ref}/statuses', query);
        // The newest is the first.
        const newest = data.find((each) => each.context === context);
        return newest?.state === state && newest.description === clip(description);
      }),

    findDeployment: (place, commitHash, externalId) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const query = { ...path, ref: commitHash, per_page: pageSize };
        const { data } = await request('GET /repos/{owner}/{repo}/deployments', query);
        return data.find(({ payload }) => isPayloadOf(payload, externalId))?.id ?? null;
      }).then(toNumber),

    createDeployment: (place, { commitHash, environment, isProduction, description, externalId }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const { data } = await request('POST /repos/{owner}/{repo}/deployments', {
          ...path,
          ref: commitHash,
          environment,
          production_environment: isProduction,
          description: clip(description),
          payload: { fairlead: externalId },
          // The commit is deployed whatever its branch and its checks are: GitHub only shows it.
          auto_merge: false,
          required_contexts: [],
        });
        if (!('id' in data)) throw new TypeError('GitHub merged a branch instead');
        return Number(data.id);
      }),

    createDeploymentStatus: (place, id, { state, logUrl, environmentUrl, description }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        await request('POST /repos/{owner}/{repo}/deployments/{deployment_id}/statuses', {
          ...path,
          deployment_id: id,
          state,
          ...(logUrl === null ? {} : { log_url: logUrl }),
          description: clip(description),
          ...(environmentUrl === null ? {} : { environment_url: environmentUrl }),
        });
      }),

    hasDeploymentStatus: (place, id, { state, description }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const query = { ...path, deployment_id: id, per_page: 1 };
        const { data } = await request('GET /repos/{owner}/{repo}/deployments/{deployment_id}/statuses', query);
        const [newest] = data;
        return newest?.state === state && newest.description === clip(description);
      }),
  };
}

/** GitHub's maximum. */
function clip(description: string): string {
  return description.slice(0, 140);
}

function toNumber(id: number | bigint | null): number | null {
  return id === null ? null : Number(id);
}

function isPayloadOf(payload: unknown, externalId: string): boolean {
  return typeof payload === 'object' && payload !== null && 'fairlead' in payload && payload.fairlead === externalId;
}

function toCheckRun(checkRun: CheckRun) {
  const { name, status, conclusion, startedAt, completedAt, title, summary, text } = checkRun;
  const { annotations = [], actions = [] } = checkRun;
  return {
    name,
    status,
    ...(conclusion === undefined ? {} : { conclusion }),
    ...(startedAt === undefined ? {} : { started_at: startedAt.toISOString() }),
    ...(completedAt === undefined ? {} : { completed_at: completedAt.toISOString() }),
    actions: [...actions],
    output: {
      title,
      summary,
      ...(text === undefined ? {} : { text }),
      annotations: annotations.map(({ path, line, message }) => ({
        path,
        start_line: line,
        end_line: line,
        annotation_level: 'failure' as const,
        message,
      })),
    },
  };
}
