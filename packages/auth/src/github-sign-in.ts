// Sign-in with GitHub. It replaces the password only: people with an authenticator app enter its code afterwards.
// Invariant: GitHub's numeric user id opens the account that linked it, and no address or login ever does.
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '@fairlead/contract/errors';
import { z } from 'zod';
import { cookieWords, readCookie, writeCookie } from './cookies.ts';
import { hashOf, randomToken, startRedirect, stateLifeMs, takeState } from './github-state.ts';
import { answer, readJson, refuse } from './http.ts';
import { type Internals, originOf, ownOriginOf } from './internals.ts';
import { welcome } from './sign-in.ts';

const signInPage = '/sign-in/github';
const bodyBytesMax = 4096;
const minuteMs = 60_000;
const attemptsMax = { byAddress: 20, together: 300 };

const completionBody = z.object({ state: z.string().min(1).max(200), code: z.string().min(1).max(300) });

/** Returns the URL at GitHub, which leads back to the same address, with a cookie that binds the redirect back to this browser. */
export async function startGithubSignIn(internals: Internals, request: Request): Promise<Response> {
  const { client, options } = internals;
  const own = ownOriginOf(internals, request.headers);
  if (own === null) return refuse('permission.denied');
  if (!(await mayTry(internals, request))) return refuse('request.too_many');
  const app = await options.github?.findSignInClient();
  if (app === null || app === undefined) return refuse('session.github_off');
  const binding = randomToken();
  const state = { purpose: 'sign_in', githubAppId: app.githubAppId, bindingHash: hashOf(binding) } as const;
  const url = await startRedirect(client(), app, state, `${own}${signInPage}`);
  return answer({ url }, null, [cookieOf(internals, binding, stateLifeMs / 1000)]);
}

/** Opens a session, or begins the second step. */
export async function completeGithubSignIn(internals: Internals, request: Request): Promise<Response> {
  const own = ownOriginOf(internals, request.headers);
  if (own === null) return refuse('permission.denied');
  const body = completionBody.safeParse(await readJson(request, bodyBytesMax));
  if (!body.success) return refuse('input.invalid');
  const { client, options, library } = internals;
  if (!(await mayTry(internals, request))) return refuse('request.too_many');
  const binding = readCookie(request.headers, cookieName(internals));
  const state = await takeState(client(), body.data.state);
  const app = await options.github?.findSignInClient();
  if (binding === null || state?.purpose !== 'sign_in' || !isSame(hashOf(binding), state.bindingHash)) {
    return refuse('github.state_invalid');
  }
  // The operator may have chosen another app meanwhile.
  if (options.github === null || app?.githubAppId !== state.githubAppId) return refuse('session.github_off');
  const { githubAppId, verifier } = state;
  const proof = { githubAppId, code: body.data.code, verifier, redirectUrl: `${own}${signInPage}` };
  const person = await options.github.readPerson(proof).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  if (person instanceof AppError) return refuse(person.code);
  const key = { githubAppId_githubUserId: { githubAppId, githubUserId: BigInt(person.githubUserId) } };
  const link = await client().githubAccount.findUnique({ where: key, select: { id: true, userId: true } });
  if (link === null) return refuse('session.github_unknown');

  const { userId } = link;
  const opened = await library().api.openSession({ body: { userId }, headers: request.headers, asResponse: true });
  const result = (await opened.clone().json()) as { token?: string; twoFactorRedirect?: boolean };
  const used = { login: person.login, lastUsedAt: new Date() };
  const { count } = await client().githubAccount.updateMany({ where: { id: link.id, userId }, data: used });
  if (count === 0) {
    // The account was unlinked during the sign-in, and the removal may have missed this session.
    await client().session.deleteMany({ where: { userId, token: result.token ?? '' } });
    await client().verification.deleteMany({ where: { value: userId } });
    return refuse('session.github_unknown');
  }
  const spent = cookieOf(internals, '', 0);
  if (result.twoFactorRedirect === true) return answer({ needsCode: true }, opened, [spent]);
  return welcome(internals, request.headers, userId, opened, [spent]);
}

/** Counts attempts by client address, or together without one. Known devices have no limit. */
async function mayTry({ limit, devices, ...internals }: Internals, { headers }: Request): Promise<boolean> {
  const { ip } = originOf({ limit, devices, ...internals }, headers);
  const max = ip === null ? attemptsMax.together : attemptsMax.byAddress;
  return (await limit.spend(`github ${ip ?? 'unknown'}`, max, minuteMs)) || devices.isKnown(headers);
}

function cookieName({ options }: Internals): string {
  return `${cookieWords(options.baseUrl).prefix}.github`;
}

function cookieOf(internals: Internals, value: string, maxAgeSeconds: number): string {
  return writeCookie(cookieName(internals), value, maxAgeSeconds, cookieWords(internals.options.baseUrl).isHttps);
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
