// HTTP client that runs on one machine of a test: curl, with that machine's network, names and authorities.

import type { AppRouter } from '@fairlead/api';
import { createTRPCClient, httpLink, type TRPCClient } from '@trpc/client';
import superjson from 'superjson';
import type { Person } from '../../../tools/lib/dashboard-client.ts';
import type { Machine } from './machines.ts';

export interface CurlOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Authority to trust, in PEM. Default: the system's. */
  readonly caFile?: string;
  /** Other options of curl. */
  readonly flags?: readonly string[];
}

/** Sends one request; rejects if there is no trusted connection. */
export async function curl(machine: Machine, url: string, options: CurlOptions = {}): Promise<Response> {
  const { method = 'GET', headers = {}, body, caFile, flags = [] } = options;
  const args = ['--noproxy', '*', '--silent', '--show-error', '--include', '--max-time', '60', '--request', method];
  for (const [name, value] of Object.entries(headers)) args.push('--header', `${name}: ${value}`);
  if (caFile !== undefined) args.push('--cacert', caFile);
  if (body !== undefined) args.push('--data-binary', body);
  const { code, stdout, output } = await machine.run(['curl', ...args, ...flags, url]);
  if (code !== 0) throw new Error(`curl ${url} on ${machine.name}: ${output}`);
  const end = stdout.indexOf('\r\n\r\n');
  const [first = '', ...lines] = stdout.slice(0, end).split('\r\n');
  const status = Number(first.split(' ')[1]);
  const answered = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const text = stdout.slice(end + 4);
  return new Response(text === '' ? null : text, { status, headers: answered });
}

export type ApiClient = TRPCClient<AppRouter>;

export interface Site {
  readonly machine: Machine;
  /** URL of the control plane as this machine reaches it. */
  readonly url: string;
  readonly caFile: string;
}

/** Returns a client of the API with these headers, and as a person's browser if they hold a session. */
export function openClient({ machine, url, caFile }: Site, headers: Readonly<Record<string, string>>): ApiClient {
  const fetch = (input: URL | RequestInfo, init?: { method?: string; body?: unknown; headers?: unknown }) =>
    curl(machine, String(input), {
      caFile,
      ...(init?.method === undefined ? {} : { method: init.method }),
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      headers: init?.headers as Record<string, string>,
    });
  const all = { ...headers, origin: url };
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${url}/api/trpc`, headers: all, fetch, transformer: superjson })],
  });
}

/** Signs in by password; returns the headers of the session. */
export async function signInFrom(
  { machine, url, caFile }: Site,
  { email, password }: Person,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const response = await curl(machine, `${url}/api/auth/sign-in/email`, {
    method: 'POST',
    caFile,
    headers: { ...headers, 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  const cookies = response.headers.getSetCookie().map((header) => header.split(';')[0]);
  return { cookie: cookies.join('; ') };
}
