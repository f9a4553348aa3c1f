// Keeps webhook endpoints with their secrets in memory for a short time, so that a delivery costs no query.
import { isId } from '@fairlead/contract/ids';
import { findEndpoint, type WebhookEndpoint } from '@fairlead/core/push';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';

/** A revoked webhook is accepted for this long at most. */
const keptMs = 2_000;
const endpointsMax = 1_000;
/**
 * Strangers who guess ids take no more connections of the pool than this. A limit for each address would refuse deliveries of
 * GitHub, through which strangers can send requests too.
 */
const queriesAtOnce = 2;

export interface EndpointCache {
  /** Returns null for an unknown endpoint. */
  find(id: string): Promise<WebhookEndpoint | null>;
}

export function createEndpointCache({
  database,
  secretKeys,
}: {
  readonly database: Database;
  readonly secretKeys: SecretKeys;
}): EndpointCache {
  const kept = new Map<string, { readonly endpoint: Promise<WebhookEndpoint | null>; readonly until: number }>();
  const lanes = Array.from({ length: queriesAtOnce }, () => Promise.resolve());
  let turn = 0;

  /** Runs after the query before it in the same lane. */
  function query(id: string): Promise<WebhookEndpoint | null> {
    const lane = turn % queriesAtOnce;
    turn += 1;
    const before = lanes[lane] ?? Promise.resolve();
    const found = before.then(() =>
      database.system('find a webhook', (tx) => findEndpoint({ tx }, { id }, secretKeys)),
    );
    lanes[lane] = found.then(
      () => undefined,
      () => undefined,
    );
    return found;
  }

  return {
    find: (id) => {
      if (!isId('gha', id) && !isId('whk', id)) return Promise.resolve(null);
      const known = kept.get(id);
      const now = performance.now();
      if (known !== undefined && known.until > now) return known.endpoint;
      const endpoint = query(id);
      kept.delete(id);
      const [oldest] = kept.keys();
      if (kept.size >= endpointsMax && oldest !== undefined) kept.delete(oldest);
      kept.set(id, { endpoint, until: now + keptMs });
      endpoint.catch(() => kept.delete(id));
      return endpoint;
    },
  };
}
