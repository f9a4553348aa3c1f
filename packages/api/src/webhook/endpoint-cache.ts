// Keeps webhook endpoints with their secrets in memory for a short time, so that a delivery costs no query.
import { findEndpoint, type WebhookEndpoint } from '@fairlead/core/push';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';

/** A revoked webhook is accepted for this long at most. */
const keptMs = 2_000;
const endpointsMax = 1_000;

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

  return {
    find: (id) => {
      const known = kept.get(id);
      const now = performance.now();
      if (known !== undefined && known.until > now) return known.endpoint;
      const endpoint = database.system('find a webhook', (tx) => findEndpoint({ tx }, { id }, secretKeys));
      kept.delete(id);
      const [oldest] = kept.keys();
      if (kept.size >= endpointsMax && oldest !== undefined) kept.delete(oldest);
      kept.set(id, { endpoint, until: now + keptMs });
      endpoint.catch(() => kept.delete(id));
      return endpoint;
    },
  };
}
