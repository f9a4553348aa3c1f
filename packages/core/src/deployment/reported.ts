// Owns reading what a server reports of builds and roll-outs: pure, and strict, because a wrong value that gets into a
// release would make the agent refuse its whole desired state.
import {
  type Artifact,
  type BuildStatus,
  type Commit,
  type RolloutStatus,
  type StepStatus,
  StepState as WireStepState,
  WorkState,
} from '@fairlead/contract/agent';
import { clipText } from '../kernel/index.ts';
import type { WorkOutcome } from './machine.ts';
import type { StepState } from './schema.ts';
import type { StepRow } from './steps.ts';

export interface ReportedCommit {
  readonly hash: string;
  readonly subject: string;
  readonly author: string;
  readonly committedAt: Date;
}

export interface ReportedArtifact {
  readonly digest: string;
  readonly sizeBytes: bigint;
  readonly runtime: string;
  readonly command: readonly string[];
}

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

/** Null when the server says nothing that can be used. */
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
      const message = clipText(status.failure?.message ?? '', 2000) || null;
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
  };
}

function date(unixMs: bigint): Date | null {
  // The year 9999: beyond it PostgreSQL and JavaScript write dates in different forms.
  return unixMs > 0n && unixMs < 253_402_300_800_000n ? new Date(Number(unixMs)) : null;
}
