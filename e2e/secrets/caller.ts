// Calls the API as a signed-in person, through the code that serves HTTP. Keeps every response for the search, except
// the one that may contain a value.
import { type ApiParts, answerRequest, organizationHeader } from '@fairlead/api';
import type { TestWorld } from '@fairlead/core/testing';

export const origin = 'https://fairlead.example.test';
const password = 'the owner signs in with this';

type Answer = Record<string, unknown>;
interface CallOptions {
  readonly fails?: boolean;
  readonly isReveal?: boolean;
}
export type Call = (path: string, method: 'GET' | 'POST', input?: object, options?: CallOptions) => Promise<Answer>;

export async function signedInCaller(
  parts: ApiParts,
  world: TestWorld,
  keep: (name: string, text: string) => void,
): Promise<Call> {
  const email = 'drill@example.test';
  const { userId } = await parts.auth.createAccount({ name: 'Drill', email, password });
  await world.system(({ tx }) =>
    tx.member.create({ data: { id: 'mem_drill', organizationId: world.organizationId, userId, role: 'owner' } }),
  );
  const signedIn = await parts.auth.handler(
    new Request(`${origin}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ email, password }),
    }),
  );
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  let calls = 0;
  return async (path, method, input, { fails = false, isReveal = false } = {}) => {
    calls += 1;
    const json = JSON.stringify({ json: input ?? null });
    const query = method === 'GET' ? `?input=${encodeURIComponent(json)}` : '';
    const response = await answerRequest(
      parts,
      new Request(`${origin}/api/trpc/${path}${query}`, {
        method,
        headers: { cookie, origin, 'content-type': 'application/json', [organizationHeader]: world.organizationSlug },
        ...(method === 'POST' ? { body: json } : {}),
      }),
    );
    const text = await response.text();
    // Only this response may contain a value.
    if (!isReveal) keep(`answer ${calls} of ${path}`, `${JSON.stringify([...response.headers])}\n${text}`);
    if (response.ok === fails) throw new Error(`${path} ${fails ? 'did not fail' : `answered ${response.status}`}`);
    const body = JSON.parse(text) as { result?: { data?: { json?: Answer } } };
    return body.result?.data?.json ?? {};
  };
}
