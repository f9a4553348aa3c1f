// Parses a server's reports of builds and rollouts. Pure and strict: one wrong value in a release would make the
// agent refuse its whole desired state.
import {
  type Artifact,
  ArtifactKind,
  type BuildStatus,
  type Commit,
  type ProcessSpec,
  type RolloutStatus,
  type StepStatus,
  StepState as WireStepState,
  WorkState,
} from '@fairlead/contract/agent';
import { instancesMax } from '../config/index.ts';
import { clipText, withoutServerPath } from '../kernel/index.ts';
import { commandSchema, healthPathSchema, namedCommandSchema, plainNameSchema } from '../kernel/process.ts';
import type { ReleasePlan } from '../release/index.ts';
import { secretNameSchema } from '../secret/index.ts';
import { refSchema } from '../source/index.ts';
import type { WorkOutcome } from './machine.ts';
import type { StepState } from './schema.ts';
import type { StepRow } from './steps.ts';

export interface ReportedCommit {
  readonly hash: string;
  readonly subject: string;
  readonly author: string;
  readonly committedAt: Date;
  /** Empty: a tag or a commit was built. Null: no repository. */
  readonly branch: string | null;
}

export interface ReportedArtifact {
  readonly digest: string;
  readonly sizeBytes: bigint;
  readonly runtime: string;
  readonly command: readonly string[];
  readonly kind: 'archive' | 'image';
  readonly healthPath: string;
  readonly plan: ReleasePlan;
  /** Content of fairlead.bench.json; empty: none. Null: the agent did not read it. */
  readonly benchmarkPlan: string | null;
}

/** Limit of expected names; agents send no more either. */
const expectedVariablesMax = 200;

const stepStates: Readonly<Record<WireStepState, StepState | null>> = {
  [WireStepState.UNSPECIFIED]: null,
  [WireStepState.RUNNING]: 'running',
  [WireStepState.DONE]: 'done',
  [WireStepState.FAILED]: 'failed',
  [WireStepState.SKIPPED]: 'skipped',
};

export function readSteps(steps: readonly StepStatus[]): StepRow[] {
  return steps.flatMap((status) => {
    const state = stepStates[status.state] ?? null;
    if (state === null) return [];
    return [
      { name: status.name, state, startedAt: date(status.startedUnixMs), finishedAt: date(status.finishedUnixMs) },
    ];
  });
}

/** Null if the server reports nothing usable. */
export function readOutcome(status: BuildStatus | RolloutStatus): WorkOutcome | null {
  switch (status.state) {
    case WorkState.RUNNING:
      return { kind: 'running' };
    case WorkState.SUCCEEDED:
      return { kind: 'succeeded' };
    case WorkState.CANCELLED:
      return { kind: 'cancelled' };
    case WorkState.FAILED: {
      const code = clipText(status.failure?.code ?? '', 100) || 'deployment.interrupted';
      const message = withoutServerPath(clipText(status.failure?.message ?? '', 2000)) || null;
      return { kind: 'failed', failure: { code, message } };
    }
    default:
      return null;
  }
}

export function readCommit(commit: Commit | undefined): ReportedCommit | null {
  if (commit === undefined || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit.hash)) return null;
  return {
    hash: commit.hash,
    subject: clipText(commit.subject, 500),
    author: clipText(commit.author, 200),
    committedAt: date(commit.committedUnixMs) ?? new Date(0),
    branch: refSchema.catch('').parse(commit.branch),
  };
}

/** `override` is the app's own start command; empty: what the builder chose. */
export function readArtifact(artifact: Artifact | undefined, override: readonly string[]): ReportedArtifact | null {
  if (artifact === undefined || !/^sha256:[0-9a-f]{64}$/.test(artifact.digest)) return null;
  const command = override.length > 0 ? override : artifact.command;
  const runnable = command[0] !== undefined && command[0] !== '' && command.every((word) => !word.includes('\0'));
  return {
    digest: artifact.digest,
    sizeBytes: BigInt.asIntN(63, artifact.sizeBytes),
    runtime: clipText(artifact.runtime, 100),
    command: runnable ? command : [],
    kind: artifact.kind === ArtifactKind.IMAGE ? 'image' : 'archive',
    healthPath: healthPathSchema.catch('').parse(artifact.healthPath),
    plan: {
      sentences: artifact.sentences.slice(0, 50).map((sentence) => clipText(sentence, 500)),
      workers: artifact.workers.slice(0, 20).flatMap(readWorker),
      toolchains: artifact.toolchains.filter((each) => /^[a-z][a-z0-9-]{0,30}@[\w.+-]{1,40}$/.test(each)).slice(0, 10),
      releaseCommand: commandSchema.catch([]).parse(artifact.releaseCommand),
      listensOnSocket: artifact.listensOnSocket,
      expectedVariables: readNames(artifact.expectedVariables),
    },
    benchmarkPlan: artifact.benchmarkPlan ?? null,
  };
}

/** Only what could be set: others are Fairlead's own, or no names. */
function readNames(names: readonly string[]): string[] {
  return [...new Set(names.filter((name) => secretNameSchema.safeParse(name).success))].slice(0, expectedVariablesMax);
}

function readWorker(worker: ProcessSpec): ReleasePlan['workers'] {
  const name = plainNameSchema.safeParse(worker.name);
  const command = namedCommandSchema.safeParse(worker.command);
  if (!name.success || name.data === 'web' || !command.success) return [];
  return [
    {
      name: name.data,
      command: command.data,
      instances: Math.min(worker.instances, instancesMax),
      memoryBytesMax: Number(BigInt.asUintN(50, worker.memoryBytesMax)),
      cpuMillisMax: Math.min(worker.cpuMillisMax, 1_000_000),
      staysAwake: worker.staysAwake,
    },
  ];
}

/** Builds a commit record for an upload, which has no commit: its digest stands in for the hash. */
export function uploadedCommit(digest: string, at: Date): ReportedCommit {
  return {
    hash: digest.slice('sha256:'.length),
    subject: 'Uploaded folder',
    author: '',
    committedAt: at,
    branch: null,
  };
}

/** Builds a commit record for an image that was built elsewhere: its digest at that moment stands in for the hash. */
export function imageCommit(image: string, digest: string, at: Date): ReportedCommit {
  return { hash: digest.slice('sha256:'.length), subject: image, author: '', committedAt: at, branch: null };
}

function date(unixMs: bigint): Date | null {
  // The year 9999: beyond it PostgreSQL and JavaScript write dates in different forms.
  return unixMs > 0n && unixMs < 253_402_300_800_000n ? new Date(Number(unixMs)) : null;
}
