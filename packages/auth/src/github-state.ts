// States of redirects to GitHub and back (RFC 6749, section 10.12), with the verifier of PKCE (RFC 7636). A state works once,
// within ten minutes. The database has its hash only.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';
import { z } from 'zod';
import type { GithubClient } from './github-identity.ts';

export const stateLifeMs = 10 * 60_000;

const stateSchema = z.discriminatedUnion('purpose', [
  z.object({
    purpose: z.literal('link'),
    githubAppId: z.string(),
    verifier: z.string(),
    /** The redirect must come back to the session that started it. */
    sessionId: z.string(),
  }),
  z.object({
    purpose: z.literal('sign_in'),
    githubAppId: z.string(),
    verifier: z.string(),
    /** SHA-256 of the cookie of the browser that started it. */
    bindingHash: z.string(),
  }),
]);
export type GithubState = z.infer<typeof stateSchema>;

type WithoutVerifier<State> = State extends unknown ? Omit<State, 'verifier'> : never;

/** Returns the authorization URL at GitHub. */
export async function startRedirect(
  client: Pick<IdentityClient, 'verification'>,
  github: GithubClient,
  state: WithoutVerifier<GithubState>,
  redirectUrl: string,
): Promise<string> {
  const token = randomToken();
  const verifier = randomToken();
  await client.verification.create({
    data: {
      id: randomUUID(),
      identifier: identifierOf(token),
      value: JSON.stringify({ ...state, verifier }),
      expiresAt: new Date(Date.now() + stateLifeMs),
    },
  });
  const url = new URL(`${github.baseUrl}/login/oauth/authorize`);
  for (const [name, value] of Object.entries({
    client_id: github.clientId,
    redirect_uri: redirectUrl,
    state: token,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    prompt: 'select_account',
    allow_signup: 'false',
  })) {
    url.searchParams.set(name, value);
  }
  return url.href;
}

/** Uses up a state; null if it is unknown, used or expired. Of two uses at once only one succeeds. */
export async function takeState(client: Pick<IdentityClient, '$queryRaw'>, token: string): Promise<GithubState | null> {
  const rows = await client.$queryRaw<{ value: string }[]>`
    DELETE FROM verification WHERE identifier = ${identifierOf(token)} AND expires_at > ${new Date()} RETURNING value`;
  const [row] = rows;
  return row === undefined ? null : stateSchema.parse(JSON.parse(row.value));
}

export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function identifierOf(token: string): string {
  return `github-${hashOf(token)}`;
}
