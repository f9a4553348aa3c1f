// HTTP of identity: bounded JSON in, our own codes out, no unknown fields passed on.
import { type ErrorCode, errorTable } from '@fairlead/contract/errors';

/** Replaces the body with the one that we parsed, so that no unknown field reaches the library. */
export function withBody(
  request: Request,
  path: string,
  body: object,
  cookie = request.headers.get('cookie'),
): Request {
  const headers = new Headers(request.headers);
  headers.set('content-type', 'application/json');
  headers.delete('content-length');
  if (cookie === null) headers.delete('cookie');
  else headers.set('cookie', cookie);
  return new Request(new URL(path, request.url), { method: 'POST', headers, body: JSON.stringify(body) });
}

export function withoutBody(request: Request, path: string): Request {
  const headers = new Headers(request.headers);
  for (const name of ['content-type', 'content-length']) headers.delete(name);
  return new Request(new URL(path, request.url), { method: 'GET', headers });
}

/** Reads a JSON body. Undefined if it is no JSON or longer than `bytesMax`. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Builds our own response with the cookies of the library and ours: the library's body holds tokens that no script
 * should read.
 */
export function answer(body: object, from: Response | null, cookies: readonly (string | null)[] = []): Response {
  const headers = new Headers({ 'cache-control': 'no-store' });
  for (const cookie of [...(from?.headers.getSetCookie() ?? []), ...cookies]) {
    if (cookie !== null) headers.append('set-cookie', cookie);
  }
  return Response.json(body, { headers });
}

export function refuse(code: ErrorCode): Response {
  const { http, message } = errorTable[code];
  return Response.json({ code, message }, { status: http, headers: { 'cache-control': 'no-store' } });
}

export function notFound(): Response {
  return new Response(null, { status: 404 });
}
