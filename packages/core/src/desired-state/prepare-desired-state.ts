// Prepares the desired state that a server gets: renders it, and records what the render found.
import type { DesiredState } from '@fairlead/contract/agent';
import type { SystemCtx } from '../kernel/index.ts';
import { recordSecretsProblems } from './record-secrets-problems.ts';
import { type RenderInput, renderDesiredState } from './render-desired-state.ts';

/** Runs work in a transaction of its own. */
export type InSystem = <T>(work: (ctx: SystemCtx) => Promise<T>) => Promise<T>;

/** Renders again if secrets reach the server again, because that gives the desired state a new version. */
export async function prepareDesiredState(inSystem: InSystem, input: RenderInput): Promise<DesiredState> {
  const { serverId } = input;
  const { state, secretsProblems: problems } = await inSystem((ctx) => renderDesiredState(ctx, input));
  if (problems.length === 0) return state;
  const recovered = await inSystem((ctx) => recordSecretsProblems(ctx, { serverId, problems }));
  return recovered ? (await inSystem((ctx) => renderDesiredState(ctx, input))).state : state;
}
