// Webhooks as GitHub sends them: published example payloads, signed with an app's secret.
import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { z } from 'zod';
import type { FakeApp } from './state.ts';

const examplesSchema = z.array(
  z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())).min(1) }),
);

type Payload = Readonly<Record<string, unknown>>;

/** Returns a published example of an event, of one action if it is named, with `changes` at its top level. */
export function webhookExample(event: string, action: string | null, changes: Payload = {}): Payload {
  const examples = examplesSchema.parse(createRequire(import.meta.url)('@octokit/webhooks-examples'));
  const all = examples.find(({ name }) => name === event)?.examples ?? [];
  const found = all.find((each) => action === null || each.action === action);
  if (found === undefined) throw new Error(`there is no example of ${event} ${action ?? ''}`);
  return { ...found, ...changes };
}

/** Returns headers and body of a webhook as GitHub signs it. */
export function signWebhook(
  app: Pick<FakeApp, 'id' | 'webhookSecret'>,
  event: string,
  payload: object | string,
  delivery: string,
) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const signature = createHmac('sha256', app.webhookSecret).update(body).digest('hex');
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/fake',
      'x-github-event': event,
      'x-github-delivery': delivery,
      'x-github-hook-installation-target-id': String(app.id),
      'x-github-hook-installation-target-type': 'integration',
      'x-hub-signature-256': `sha256=${signature}`,
    },
  };
}
