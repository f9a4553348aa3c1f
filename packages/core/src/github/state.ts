// Single-use states of redirects to GitHub and back. A state works once, within an hour, for the person who started it.
import { AppError, actorUserId, type Ctx, hashToken, mintToken } from '../kernel/index.ts';

const validMs = 60 * 60_000;

export type StatePurpose = 'register' | 'install';

export interface StateInput {
  readonly purpose: StatePurpose;
  readonly baseUrl: string;
  readonly githubAppId: string;
}

/** Returns the state for the URL; only its hash is stored. Deletes expired ones of the organization. */
export async function createState(ctx: Ctx, input: StateInput): Promise<string> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  await tx.githubState.deleteMany({ where: { organizationId, expiresAt: { lte: now } } });
  const { token, hash } = mintToken('ghs');
  const expiresAt = new Date(now.getTime() + validMs);
  await tx.githubState.create({
    data: { ...input, stateHash: hash, organizationId, userId: requirePerson(ctx), expiresAt },
  });
  return token;
}

/** Uses up a state. Throws github.state_invalid; the caller's transaction must commit before GitHub is asked. */
export async function takeState(ctx: Ctx, state: string, purpose: StatePurpose): Promise<StateInput> {
  const { tx, organizationId } = ctx;
  const where = { stateHash: hashToken(state), organizationId, purpose, userId: requirePerson(ctx) };
  const row = await tx.githubState.findFirst({ where: { ...where, expiresAt: { gt: ctx.clock.now() } } });
  // If two take it at once, one of them deletes it.
  const { count } = await tx.githubState.deleteMany({ where });
  if (row === null || count === 0) throw new AppError('github.state_invalid');
  return { purpose, baseUrl: row.baseUrl, githubAppId: row.githubAppId };
}

function requirePerson({ actor }: Ctx): string {
  const userId = actorUserId(actor);
  if (userId === null) throw new AppError('github.person_only');
  return userId;
}
