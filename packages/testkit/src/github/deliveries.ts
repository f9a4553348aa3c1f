// Webhooks that the fake GitHub sends, and its log of them in the deliveries API.
import { exampleOf } from './openapi.ts';
import { type FakeApp, type FakeDelivery, type FakeState, takeId } from './state.ts';
import { signWebhook } from './webhook.ts';

export interface WebhookOfFake {
  readonly appId: number;
  readonly event: string;
  /** Payload, or its text. */
  readonly payload: object | string;
  readonly guid: string;
}

/** GitHub waits no longer for an answer. */
const timeoutMs = 10_000;

export async function deliver(state: FakeState, { appId, event, payload, guid }: WebhookOfFake): Promise<number> {
  const app = state.apps.find(({ id }) => id === appId);
  if (app === undefined || app.hookUrl === null) throw new Error(`app ${appId} has no webhook`);
  const { headers, body } = signWebhook(app, event, payload, guid);
  const statusCode = state.faults.dropsWebhooks ? 0 : await send(app.hookUrl, headers, body);
  const isRedelivery = state.deliveries.some((each) => each.guid === guid);
  const deliveredAt = state.now();
  state.deliveries.push({ id: takeId(state), appId, guid, event, body, deliveredAt, isRedelivery, statusCode });
  return statusCode;
}

async function send(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

/** Newest first, page by page with a cursor in the Link header. */
export function pageOfDeliveries(state: FakeState, app: FakeApp, query: URLSearchParams) {
  const size = Number(query.get('per_page') ?? 30);
  const cursor = Number(query.get('cursor') ?? Number.MAX_SAFE_INTEGER);
  const all = state.deliveries.filter(({ id, appId }) => appId === app.id && id <= cursor).reverse();
  const next = all[size];
  const headers =
    next === undefined ? {} : { link: `<https://github/app/hook/deliveries?cursor=${next.id}>; rel="next"` };
  return { status: 200, headers, body: all.slice(0, size).map(itemOf) };
}

/** Null: the app has no such delivery. */
export function showDelivery(state: FakeState, app: FakeApp, id: number): object | null {
  const delivery = state.deliveries.find((each) => each.id === id && each.appId === app.id);
  if (delivery === undefined) return null;
  const example = exampleOf<{ request: object }>('hook-delivery');
  return { ...example, ...itemOf(delivery), request: { ...example.request, payload: JSON.parse(delivery.body) } };
}

function itemOf({ id, guid, event, body, deliveredAt, isRedelivery, statusCode }: FakeDelivery): object {
  const { action = null } = JSON.parse(body);
  return {
    id,
    guid,
    event,
    action,
    delivered_at: new Date(deliveredAt).toISOString(),
    redelivery: isRedelivery,
    duration: 0.1,
    status: statusText(statusCode),
    status_code: statusCode,
    installation_id: null,
    repository_id: null,
    throttled_at: null,
  };
}

function statusText(code: number): string {
  if (code === 0) return 'failed to connect to host';
  return code < 300 ? 'OK' : `Invalid HTTP Response: ${code}`;
}
