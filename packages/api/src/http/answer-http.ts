// HTTP API: plain JSON and an API token in, the same procedures as tRPC, plain JSON out.
// Invariant: it never authenticates by cookie, because browsers send cookies by themselves.
import { AppError } from '@fairlead/core/kernel';
import { readBoundedBody } from '../body-limit.ts';
import { type ApiParts, createContext } from '../context.ts';
import { problemOf } from '../problem.ts';
import { createCallerFactory } from '../procedures.ts';
import { apiRouter } from '../router.ts';
import { answerUpload, uploadPath } from './answer-upload.ts';
import { apiBasePath, apiDocument } from './document.ts';
import { fromJson, fromQuery } from './json-schema.ts';
import { type Operation, operations } from './operations.ts';

const createCaller = createCallerFactory(apiRouter);
/** No input of ours comes near; a body is read whole before its schema sees it. */
const bodyBytesMax = 256 * 1024;
const noStore = { 'cache-control': 'no-store' } as const;

export async function answerHttp(parts: ApiParts, request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.slice(apiBasePath.length + 1);
  try {
    if (path === 'openapi.json' && request.method === 'GET') {
      await parts.rateLimit.admit(createContext(parts, { headers: request.headers, organizationSlug: null }), 1);
      return json(apiDocument(), 'public, max-age=300');
    }
    return json(await call(parts, request, path), noStore['cache-control']);
  } catch (error) {
    return problemOf(error, parts.log, `http ${path}`);
  }
}

async function call(parts: ApiParts, request: Request, path: string): Promise<unknown> {
  const operation = operations().find((each) => each.path === path && each.method === request.method);
  const headers = new Headers(request.headers);
  headers.delete('cookie');
  const ctx = createContext(parts, { headers, organizationSlug: null });
  await parts.rateLimit.admit(ctx, 1);
  // Runs first, so that a caller without a token learns no more than the document says.
  if (ctx.bearer === null) throw new AppError('token.required');
  if (path === uploadPath && request.method === 'POST') return answerUpload(ctx, request);
  if (operation === undefined) throw new AppError('request.unknown', { method: request.method, path });
  const procedure = procedureOf(createCaller(ctx), operation);
  return procedure(await readInput(operation, request));
}

function procedureOf(caller: unknown, { procedure }: Operation): (input: unknown) => Promise<unknown> {
  let target: unknown = caller;
  for (const part of procedure.split('.')) target = (target as Record<string, unknown>)[part];
  return target as (input: unknown) => Promise<unknown>;
}

async function readInput({ input, method }: Operation, request: Request): Promise<unknown> {
  if (input === null) return undefined;
  if (method === 'GET') return fromQuery(input, new URL(request.url).searchParams);
  return fromJson(input, await readJson(request));
}

async function readJson(request: Request): Promise<unknown> {
  // The one kind of body that a foreign page cannot send without asking first.
  if (!/^application\/json(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw new AppError('request.not_json');
  const body = await readBoundedBody(request, bodyBytesMax);
  if (body === null) throw new AppError('request.too_large', { bytesMax: bodyBytesMax });
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new AppError('request.not_json', {}, { cause: error });
  }
}

function json(body: unknown, cacheControl: string): Response {
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': cacheControl },
  });
}
