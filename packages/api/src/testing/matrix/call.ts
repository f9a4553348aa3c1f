// Makes one call as a client does, and returns its outcome.
// Invariant: it never looks inside the API, only at its responses.
import { AppError } from '@fairlead/contract/errors';
import { type AnyRouter, TRPCError } from '@trpc/server';
import superjson from 'superjson';
import { answerRequest } from '../../answer-request.ts';
import { type ApiParts, createContext, organizationHeader } from '../../context.ts';
import { createCallerFactory } from '../../procedures.ts';
import { type FedLiveSource, origin } from '../test-api.ts';
import type { DeclaredProcedure } from './declared.ts';
import type { Person } from './stage.ts';

export interface Answer {
  /** A code of the error table, or `ok`. */
  readonly outcome: string;
  /** The whole response, as the caller sees it. */
  readonly text: string;
}

interface ErrorBody {
  readonly error?: { readonly json: { readonly data?: { readonly errorCode?: string } } };
}

export async function callProcedure(
  { parts, router, live }: { readonly parts: ApiParts; readonly router: AnyRouter; readonly live: FedLiveSource },
  procedure: DeclaredProcedure,
  person: Person,
  input: unknown,
): Promise<Answer> {
  if (procedure.type === 'subscription') return watch(parts, router, live, procedure, person, input);
  const serialized = JSON.stringify(superjson.serialize(input));
  const url = `${origin}/api/trpc/${procedure.path}`;
  const headers = new Headers({ 'content-type': 'application/json', origin, [organizationHeader]: person.slug });
  if (person.cookie !== undefined) headers.set('cookie', person.cookie);
  const isQuery = procedure.type === 'query';
  const query = input === undefined ? '' : `?input=${encodeURIComponent(serialized)}`;
  const request = isQuery
    ? new Request(`${url}${query}`, { headers })
    : new Request(url, { method: 'POST', headers, body: input === undefined ? '{}' : serialized });
  const response = await answerRequest(parts, request, router);
  const text = await response.text();
  const body = JSON.parse(text) as ErrorBody;
  return { outcome: body.error === undefined ? 'ok' : (body.error.json.data?.errorCode ?? 'unknown'), text };
}

/** A stream has answered when it fails, ends, or subscribes. */
async function watch(
  parts: ApiParts,
  router: AnyRouter,
  live: FedLiveSource,
  procedure: DeclaredProcedure,
  person: Person,
  input: unknown,
): Promise<Answer> {
  const ended = new AbortController();
  const headers = new Headers(person.cookie === undefined ? {} : { cookie: person.cookie });
  const context = createContext(parts, { headers, organizationSlug: person.slug });
  const caller = createCallerFactory(router)(context, { signal: ended.signal });
  const call = procedure.path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], caller) as (
    input: unknown,
  ) => Promise<unknown>;
  const listening = Promise.withResolvers<Answer>();
  const before = live.subscriptions.length;
  live.onSubscribe = () => {
    if (live.subscriptions.length > before) listening.resolve({ outcome: 'ok', text: 'listening' });
  };
  const first = (async (): Promise<Answer> => {
    const events = ((await call(input)) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const { value } = await events.next();
    // The caller leaves early, and the procedure releases its resources.
    await events.return?.();
    return { outcome: 'ok', text: JSON.stringify(value ?? null) };
  })().catch((error: unknown): Answer => ({ outcome: codeOf(error), text: `${codeOf(error)} ${String(error)}` }));
  const answer = await Promise.race([first, listening.promise]);
  live.onSubscribe = null;
  ended.abort();
  await first;
  return answer;
}

function codeOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  if (!(error instanceof TRPCError)) throw error;
  const published = (error.cause as { readonly published?: { readonly errorCode: string } } | undefined)?.published;
  return published?.errorCode ?? error.code;
}
