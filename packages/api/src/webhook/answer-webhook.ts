// Receives deliveries of git hosts: authenticates and stores each before it answers. A job does the rest.
// Invariant: it trusts nothing of a request before its signature or token is checked.
import { randomUUID } from 'node:crypto';
import { wakeCheckWaits } from '@fairlead/core/deployment';
import { AppError, type Clock, type Log } from '@fairlead/core/kernel';
import { checkedCommitOf, type DeliveryLimits, readEvent } from '@fairlead/core/push';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import { createBodyBudget, readBoundedBody } from '../body-limit.ts';
import { clientAddress } from '../client-address.ts';
import { problemOf } from '../problem.ts';
import type { RateLimit } from '../rate-limit.ts';
import { hasCredential, isAuthentic } from './authenticate.ts';
import { createDeliveryBudgets } from './delivery-budget.ts';
import { createDeliveryWriter } from './delivery-writer.ts';
import { createEndpointCache } from './endpoint-cache.ts';

export interface WebhookParts {
  readonly database: Database;
  readonly secretKeys: SecretKeys;
  readonly rateLimit: RateLimit;
  readonly trustedProxies: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Bytes that an organization may store within a day. Without them, the product's own limits. */
  readonly deliveryLimits?: DeliveryLimits;
}

export interface Webhooks {
  /** `endpointId` is the last part of the path. */
  answer(endpointId: string, request: Request): Promise<Response>;
}

const mebibyte = 1024 * 1024;
/** GitHub sends no larger payload. Those of other hosts, and of scripts, are small. */
const bodyBytesMax = { github: 25 * mebibyte, app: 2 * mebibyte } as const;
/** A signature is checked over the whole body, so bodies of strangers are held in memory. */
const unverifiedBytesMax = 128 * mebibyte;
const headerMax = 200;

export function createWebhooks(parts: WebhookParts): Webhooks {
  const { database, clock, rateLimit, trustedProxies, log } = parts;
  const endpoints = createEndpointCache(parts);
  const writer = createDeliveryWriter(parts);
  const unverified = createBodyBudget(unverifiedBytesMax);
  const budgets = createDeliveryBudgets({ ...parts, limits: parts.deliveryLimits });

  async function receive(endpointId: string, request: Request): Promise<Response> {
    const { headers } = request;
    const endpoint = await endpoints.find(endpointId);
    if (endpoint === null || !hasCredential(endpoint, headers)) return refuse(headers);
    const bytesMax = bodyBytesMax[endpoint.source];
    const { body, isValid } = await unverified.hold(async (take) => {
      const read = await readBoundedBody(request, bytesMax, take);
      return { body: read, isValid: read !== null && isAuthentic(endpoint, headers, read) };
    });
    if (body === null) return reply(413, `The body is larger than ${bytesMax / mebibyte} MB.`);
    if (!isValid) return refuse(headers);
    await rateLimit.admitDelivery(endpointId);
    const event = eventOf(headers);
    if (event === 'ping') return reply(200, 'pong');
    const { organizationId, source } = endpoint;
    const text = body.toString('utf8');
    const commitHash = checkedCommitOf({ source, event, body: text });
    if (commitHash !== null) {
      await database.system('wake waits for checks', (tx) =>
        wakeCheckWaits({ tx, clock }, { organizationId, commitHash }),
      );
      return reply(202, 'Deployments that wait for checks of this commit look at them now.');
    }
    const reading = readEvent({ source, event, body: text });
    if (reading.state === 'ignored') return reply(202, 'Fairlead does nothing for this event.');
    const deliveryKey = deliveryKeyOf(headers);
    if (deliveryKey === null) return reply(400, 'The id of the delivery is longer than 200 characters.');
    if (reading.state === 'unreadable')
      return reply(400, `The body is not a ${event.replaceAll('_', ' ')} in a form that Fairlead reads.`);
    const delivery = { organizationId, source, endpointId, deliveryKey, event: reading.name, body: text };
    if (!(await budgets.take(delivery))) return overBudget();
    const { deliveryId } = await writer.write(delivery);
    if (deliveryId === null) return reply(200, 'This delivery was received before.');
    return Response.json({ message: 'The delivery is stored.', deliveryId }, { status: 202 });
  }

  /** Wrong guesses count for their address, which is answered with 429 then. */
  async function refuse(headers: Headers): Promise<Response> {
    await rateLimit.admit({ headers: new Headers(), ip: clientAddress(headers, trustedProxies) }, 1);
    return reply(401, 'There is no such webhook, or the signature or token is not valid.');
  }

  return {
    answer: async (endpointId, request) => {
      try {
        return await receive(endpointId, request);
      } catch (error) {
        if (error instanceof AppError) return problemOf(error, log, 'webhook');
        log.error({ err: error, endpointId }, 'a webhook delivery was not stored');
        return busy();
      }
    },
  };
}

function busy(): Response {
  const response = reply(503, 'The delivery could not be stored. Send it again.');
  response.headers.set('retry-after', '10');
  return response;
}

function overBudget(): Response {
  const response = reply(
    429,
    'The 24-hour storage limit for webhooks is reached. Send the request again after the time in Retry-After.',
  );
  response.headers.set('retry-after', '3600');
  return response;
}

function reply(status: number, message: string): Response {
  return Response.json({ message }, { status });
}

const eventHeaders = ['x-github-event', 'x-forgejo-event', 'x-gitea-event', 'x-gogs-event', 'x-gitlab-event'] as const;
const gitlabPushes: readonly string[] = ['push hook', 'tag push hook'];

/** A request without such a header is a script's push. */
function eventOf(headers: Headers): string {
  const event = firstOf(headers, eventHeaders)?.toLowerCase() ?? 'push';
  return gitlabPushes.includes(event) ? 'push' : event;
}

const keyHeaders = [
  'x-github-delivery',
  'x-forgejo-delivery',
  'x-gitea-delivery',
  'x-gogs-delivery',
  'idempotency-key',
] as const;

/** Null: too long. A request without an id is never a repetition. */
function deliveryKeyOf(headers: Headers): string | null {
  const key = firstOf(headers, keyHeaders) ?? randomUUID();
  return key.length > headerMax ? null : key;
}

function firstOf(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value !== '') return value;
  }
  return null;
}
