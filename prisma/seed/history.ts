// The deployments that an app went through: commits, releases, steps with durations, now and then a failure, a rollback,
// a cancelled or superseded one. Follows the rules of packages/core/src/deployment. Makes rows; loads none.
import { errorTable } from '@fairlead/contract/errors';
import { newId } from '@fairlead/contract/ids';
import type { CopyRow } from '@fairlead/db/copy';
import type { LiveRelease, Person, SeedApp } from './fleet.ts';
import type { Random } from './random.ts';
import { commitHash, commitSubject } from './words.ts';

export interface History {
  readonly releases: readonly CopyRow[];
  readonly deployments: readonly PastDeployment[];
  readonly live: LiveRelease | null;
}

export interface PastDeployment {
  readonly deploymentId: string;
  readonly appName: string;
  readonly queuedAt: Date;
  readonly requesterUserId: string | null;
  readonly row: CopyRow;
  readonly steps: readonly CopyRow[];
  readonly startedAt: Date | null;
  readonly outcome: Outcome;
}

export interface HistoryWish {
  readonly app: SeedApp;
  readonly count: number;
  readonly from: Date;
  readonly until: Date;
  /** Authors of commits. */
  readonly people: readonly Person[];
  /** Members who may have requested a deployment, in person or by a pipeline's token; none: the system did. */
  readonly actors: readonly Person[];
}

type Outcome = 'live' | 'failed' | 'cancelled' | 'superseded';
type StepName = 'queue' | 'clone' | 'build' | 'pack' | 'start' | 'health' | 'switch' | 'drain';

/** Usual seconds of each step, from and to. */
const stepSeconds: Readonly<Record<StepName, readonly [number, number]>> = {
  queue: [0.1, 1.5],
  clone: [0.8, 6],
  build: [6, 75],
  pack: [0.6, 4],
  start: [0.3, 2.5],
  health: [0.2, 3],
  switch: [0.02, 0.1],
  drain: [0.5, 10],
};
const stepNames = Object.keys(stepSeconds) as readonly StepName[];
const buildSteps: readonly StepName[] = ['clone', 'build', 'pack'];

/** Failures of a deployment: step, code, and the time until it fails. */
const failures = [
  { step: 'clone', code: 'build.ref_not_found', seconds: [0.6, 2] },
  { step: 'build', code: 'build.command_failed', seconds: [4, 60] },
  { step: 'build', code: 'build.command_failed', seconds: [4, 60] },
  { step: 'pack', code: 'build.disk_full', seconds: [1, 5] },
  { step: 'start', code: 'rollout.crash_loop', seconds: [8, 20] },
  { step: 'health', code: 'rollout.not_listening', seconds: [30, 30.2] },
  { step: 'health', code: 'rollout.unhealthy', seconds: [30, 30.2] },
] as const satisfies readonly Failure[];

interface Failure {
  readonly step: StepName;
  readonly code: keyof typeof errorTable;
  readonly seconds: readonly [number, number];
}

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly author: string;
}

interface Built extends Commit {
  readonly releaseId: string;
}

export function makeHistory(random: Random, wish: HistoryWish): History {
  const { app, people, actors } = wish;
  const releases: CopyRow[] = [];
  const deployments: PastDeployment[] = [];
  const wentLive: Built[] = [];
  let live: LiveRelease | null = null;
  for (const [index, queuedAt] of queueTimes(random, wish).entries()) {
    const isLast = index === wish.count - 1;
    const outcome = pickOutcome(random, index === 0 || (isLast && random.chance(0.7)));
    const rollsBack = outcome === 'live' && wentLive.length > 3 && random.chance(0.04);
    const earlier = rollsBack ? wentLive.at(-random.int(2, 3)) : undefined;
    const commit: Commit = earlier ?? {
      hash: commitHash(random),
      subject: commitSubject(random),
      author: random.pick(people).name,
    };
    const failure = outcome === 'failed' ? random.pick(failures) : null;
    const stopsAt = failure?.step ?? (outcome === 'cancelled' ? random.pick(buildSteps) : null);
    const run = runSteps(random, { queuedAt, stopsAt, failure, outcome, needsBuild: earlier === undefined });

    let releaseId: string | null = earlier?.releaseId ?? null;
    const isBuilt = outcome === 'live' || (stopsAt !== null && !buildSteps.includes(stopsAt) && outcome === 'failed');
    if (releaseId === null && isBuilt) {
      releaseId = newId('rel');
      releases.push(releaseRow(random, app, { releaseId, number: releases.length + 1, commit, at: queuedAt }));
    }
    if (outcome === 'live' && releaseId !== null) {
      live = { releaseId, since: run.finishedAt };
      wentLive.push({ ...commit, releaseId });
    }

    const deploymentId = newId('dep');
    const requester = actors.length > 0 ? random.pick(actors).userId : null;
    const trigger = pickTrigger(random, { rollsBack: earlier !== undefined, bySystem: requester === null });
    const knowsCommit = outcome !== 'superseded' && stopsAt !== 'clone';
    deployments.push({
      deploymentId,
      appName: app.name,
      queuedAt,
      requesterUserId: requester,
      outcome,
      startedAt: run.startedAt,
      steps: run.steps.map((step, position) => ({
        id: newId('stp'),
        organization_id: app.organizationId,
        deployment_id: deploymentId,
        position,
        ...step,
      })),
      row: {
        id: deploymentId,
        organization_id: app.organizationId,
        app_id: app.appId,
        environment_id: app.environmentId,
        number: index + 1,
        trigger,
        state: outcome,
        ref: app.branch,
        commit_hash: knowsCommit ? commit.hash : null,
        commit_subject: knowsCommit ? commit.subject : null,
        commit_author: knowsCommit ? commit.author : null,
        release_id: releaseId,
        actor_user_id: trigger === 'api' ? null : requester,
        requested_by_user_id: requester,
        build_server_id: earlier === undefined && run.startedAt !== null ? app.serverId : null,
        failure_code: failure?.code ?? null,
        failure_message: failure === null ? null : shown(failure.code),
        queued_at: queuedAt,
        started_at: run.startedAt,
        finished_at: run.finishedAt,
      },
    });
  }
  return { releases, deployments, live };
}

/** Ascending, in working hours more often than at night, each far enough from the next to be over by then. */
function queueTimes(random: Random, { count, from, until }: HistoryWish): readonly Date[] {
  const span = until.getTime() - from.getTime();
  const gapMs = span / count;
  return Array.from({ length: count }, (_, index) => {
    const atMs = from.getTime() + (index + random.between(0.05, 0.85)) * gapMs;
    const at = new Date(atMs);
    const hour = at.getUTCHours();
    const isNight = hour < 7 || hour > 19;
    // A night's deployment moves into the day before it, as far as its own slot allows.
    return isNight && gapMs > 24 * 3_600_000 ? new Date(atMs - ((hour + 12) % 24) * 1_800_000) : at;
  });
}

/** Most new deployments come from a pipeline, by the token of a service account. */
function pickTrigger(random: Random, of: { readonly rollsBack: boolean; readonly bySystem: boolean }) {
  if (of.rollsBack) return 'rollback';
  return of.bySystem ? 'system' : random.pick(['api', 'api', 'api', 'manual', 'redeploy']);
}

function pickOutcome(random: Random, mustBeLive: boolean): Outcome {
  if (mustBeLive) return 'live';
  const roll = random.next();
  if (roll < 0.88) return 'live';
  if (roll < 0.95) return 'failed';
  return roll < 0.975 ? 'cancelled' : 'superseded';
}

interface StepsWish {
  readonly queuedAt: Date;
  /** Step that failed or was cancelled; null if all succeeded or none began. */
  readonly stopsAt: StepName | null;
  readonly failure: Failure | null;
  readonly outcome: Outcome;
  readonly needsBuild: boolean;
}

interface StepsRun {
  readonly steps: readonly { name: StepName; state: string; started_at: Date | null; finished_at: Date | null }[];
  readonly startedAt: Date | null;
  readonly finishedAt: Date;
}

function runSteps(random: Random, { queuedAt, stopsAt, failure, outcome, needsBuild }: StepsWish): StepsRun {
  let at = queuedAt;
  let startedAt: Date | null = null;
  let isOver = false;
  const steps = stepNames.map((name) => {
    const isSkipped = isOver || (!needsBuild && buildSteps.includes(name));
    if (isSkipped) return { name, state: 'skipped', started_at: null, finished_at: null };
    const begun = at;
    const seconds = failure?.step === name ? failure.seconds : stepSeconds[name];
    at = new Date(at.getTime() + Math.round(random.between(...seconds) * 1000));
    if (name !== 'queue') startedAt ??= begun;
    if (outcome === 'superseded') isOver = true;
    if (name === stopsAt) isOver = true;
    const state = !isOver ? 'done' : outcome === 'failed' ? 'failed' : 'skipped';
    return { name, state, started_at: begun, finished_at: at };
  });
  return { steps, startedAt, finishedAt: at };
}

interface ReleaseWish {
  readonly releaseId: string;
  readonly number: number;
  readonly commit: Commit;
  readonly at: Date;
}

function releaseRow(random: Random, app: SeedApp, { releaseId, number, commit, at }: ReleaseWish): CopyRow {
  return {
    id: releaseId,
    organization_id: app.organizationId,
    app_id: app.appId,
    environment_id: app.environmentId,
    number,
    commit_hash: commit.hash,
    commit_subject: commit.subject,
    commit_author: commit.author,
    committed_at: new Date(at.getTime() - random.int(1, 600) * 1000),
    artifact_digest: `sha256:${commitHash(random)}${commitHash(random).slice(0, 24)}`,
    artifact_size_bytes: random.int(400_000, 60_000_000),
    built_on_server_id: app.serverId,
    runtime: 'node',
    command: ['node', 'server.js'],
    health_path: '/healthz',
    created_at: at,
  };
}
function shown(code: keyof typeof errorTable): string {
  const quoted: Record<string, string> = {
    'build.command_failed':
      "The command `npm run build` failed with exit code 2: `src/pages/checkout.tsx(41,7): error TS2322: Type 'string' is not assignable to type 'number'.`. The error is in the app's own code. Correct it, push, then deploy again.",
    'rollout.crash_loop':
      "The app crashed 6 times right after its start. The app ended by itself with exit code 1: `Error: Cannot find module 'express'`. The release lacks something that the app loads. Add the package to its dependencies (development dependencies are not enough), or correct the path, then deploy again.",
  };
  return quoted[code] ?? errorTable[code].message;
}
