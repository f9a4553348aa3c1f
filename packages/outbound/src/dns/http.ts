// Requests to the HTTP APIs of DNS providers: bounded in time and size, without redirects, which could carry credentials to
// another host.
import { DnsProviderError } from './error.ts';

const timeoutMs = 15_000;
const bodyBytesMax = 4 * 1024 * 1024;
const detailCharsMax = 300;

export interface ApiRequest {
  readonly provider: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly text: string;
}

/** Returns any response but a server's failure. Throws a DnsProviderError with the code `unreachable`. */
export async function callApi({ provider, method, url, headers, body }: ApiRequest): Promise<ApiResponse> {
  const unreachable = (reason: string, cause?: unknown) =>
    new DnsProviderError('unreachable', `${provider} can't be reached: ${reason}.`, cause);
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body }),
    });
    const text = await readText(response);
    if (response.status >= 500 || response.status === 429) {
      throw unreachable(`it answered with status ${response.status}${detailOf(text)}`);
    }
    return { status: response.status, text };
  } catch (error) {
    if (error instanceof DnsProviderError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw unreachable(cause instanceof Error ? cause.message : 'no connection', error);
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > bodyBytesMax) throw new Error('the response is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Returns the error for a refused request. */
export function refusal(provider: string, { status, text }: ApiResponse): DnsProviderError {
  const reason =
    status === 401 || status === 403
      ? 'rejected the credentials: they are wrong or lack a permission'
      : 'rejected the request';
  return new DnsProviderError('refused', `${provider} ${reason} (status ${status})${detailOf(text)}.`);
}

export function zoneUnknown(provider: string, zone: string): DnsProviderError {
  return new DnsProviderError('zone_unknown', `${provider} knows no zone ${zone} in this account.`);
}

/** Returns the provider's own words, for a sentence. */
function detailOf(text: string): string {
  const message = /"message"\s*:\s*"([^"]+)"/.exec(text)?.[1] ?? /<Message>([^<]+)<\/Message>/.exec(text)?.[1] ?? '';
  const plain = message
    .replace(/\p{Cc}/gu, '')
    .slice(0, detailCharsMax)
    .replace(/\.$/, '');
  return plain === '' ? '' : `: “${plain}”`;
}

export function parseJson(provider: string, { text }: ApiResponse): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DnsProviderError('unreachable', `${provider} sent an answer that can't be read.`, error);
  }
}

/** Client of an API with JSON and a bearer token. */
export function createJsonApi(provider: string, endpoint: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': 'application/json' };
  return (method: ApiRequest['method'], path: string, body?: object): Promise<ApiResponse> =>
    callApi({
      provider,
      method,
      url: `${endpoint}${path}`,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

/** Reads a list of objects at a key of an answer; anything else is an empty list. */
export function listOf(answer: unknown, key: string): readonly Readonly<Record<string, unknown>>[] {
  const list = (answer as Record<string, unknown> | null)?.[key];
  return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : [];
}
