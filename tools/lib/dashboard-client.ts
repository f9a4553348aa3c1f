// HTTP client of the dashboard as a signed-in person: creates the first account, signs in, calls procedures, opens
// pages. For measurements and test set-up.
export interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

export interface Dashboard {
  /** Opens a page with the session's cookie; returns the status and the time to the last byte. */
  open(path: string): Promise<{ readonly status: number; readonly elapsedMs: number; readonly bytes: number }>;
  /** Calls a mutation. */
  call<T>(procedure: string, input: unknown, organization?: string): Promise<T>;
  query<T>(procedure: string, organization?: string, input?: unknown): Promise<T>;
}

export const ADA: Person = { name: 'Ada Example', email: 'ada@example.com', password: 'a rope runs free' };

/** Dashboard behind a reverse proxy: the address that this machine calls, and what the proxy would pass on. */
export interface Entrance {
  readonly url: string;
  /** Origin of the pages that people open. */
  readonly origin: string;
  /** Headers of the proxy, such as X-Forwarded-For. */
  readonly headers: Readonly<Record<string, string>>;
}

function entranceOf(at: string | Entrance): Entrance {
  return typeof at === 'string' ? { url: at, origin: at, headers: {} } : at;
}

/** Redeems the setup token: `person` owns the first organization. Returns its slug. */
export async function claimSetup(at: string | Entrance, token: string, person: Person): Promise<string> {
  const { organizationSlug } = await callProcedure<{ organizationSlug: string }>(
    entranceOf(at),
    'setup.claim',
    { token, ...person },
    {},
  );
  return organizationSlug;
}

/** Signs in by password; returns the cookies of the session. */
export async function openSession(at: string | Entrance, { email, password }: Person): Promise<string> {
  const { url, origin, headers } = entranceOf(at);
  const response = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', origin },
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  return response.headers
    .getSetCookie()
    .map((header) => header.split(';')[0])
    .join('; ');
}

export async function signIn(at: string | Entrance, person: Person): Promise<Dashboard> {
  const entrance = entranceOf(at);
  const { url } = entrance;
  const cookie = await openSession(entrance, person);
  const session = (organization?: string) => ({
    ...entrance.headers,
    cookie,
    ...(organization === undefined ? {} : { 'x-fairlead-organization': organization }),
  });
  return {
    async open(path) {
      const startedAt = performance.now();
      const page = await fetch(`${url}${path}`, { headers: session(), redirect: 'manual' });
      const bytes = (await page.arrayBuffer()).byteLength;
      return { status: page.status, elapsedMs: performance.now() - startedAt, bytes };
    },
    call: (procedure, input, organization) => callProcedure(entrance, procedure, input, session(organization)),
    query: async (procedure, organization, input) => {
      const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify({ json: input }))}`;
      return readAnswer(
        procedure,
        await fetch(`${url}/api/trpc/${procedure}${query}`, { headers: session(organization) }),
      );
    },
  };
}

async function callProcedure<T>(
  { url, origin, headers: proxied }: Entrance,
  procedure: string,
  input: unknown,
  headers: Record<string, string>,
): Promise<T> {
  const response = await fetch(`${url}/api/trpc/${procedure}`, {
    method: 'POST',
    headers: { ...proxied, 'content-type': 'application/json', origin, ...headers },
    body: JSON.stringify({ json: input }),
  });
  return readAnswer(procedure, response);
}

async function readAnswer<T>(procedure: string, response: Response): Promise<T> {
  const answer = (await response.json()) as { result?: { data: { json: T } }; error?: unknown };
  if (answer.result === undefined)
    throw new Error(`${procedure} answered ${response.status}: ${JSON.stringify(answer.error)}`);
  return answer.result.data.json;
}
