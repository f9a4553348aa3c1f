// Reads requests of a load from a HAR file or a list of URLs. Keeps those of the app's own hosts, without cookies and other
// credentials, and counts what it leaves out. Pure.
import { isCredential, loadMethods, PATH_CHARS_MAX } from '@fairlead/core/benchmark/load';
import type { LoadRequest } from '@fairlead/core/benchmark/schema';
import { z } from 'zod';

const REQUESTS_MAX = 50;
const WEIGHT_MAX = 1000;
const BODY_CHARS_MAX = 65_536;
const ENTRIES_MAX = 20_000;

/** Parameters of signed and sign-in URLs, whose names are too common as a part of others. */
const CREDENTIAL_PARAMETERS = ['sid', 'sig', 'code', 'key'];
/** Headers of a browser that change the response. Conditional ones would turn it into 304. */
const KEPT_HEADERS = ['accept', 'accept-encoding', 'accept-language', 'content-type', 'range'];

const harSchema = z.object({
  log: z.object({
    entries: z
      .array(
        z.object({
          request: z.object({
            method: z.string(),
            url: z.string(),
            headers: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
            postData: z.object({ text: z.string().default('') }).optional(),
          }),
        }),
      )
      .max(ENTRIES_MAX),
  }),
});

interface ImportedLoad {
  readonly requests: readonly LoadRequest[];
  /** Counts of what was left out. */
  readonly dropped: {
    /** Requests of other hosts. */
    readonly otherHosts: number;
    /** Cookies and other headers with credentials. */
    readonly credentials: number;
    /** Requests with credentials in their query or body. */
    readonly withCredentials: number;
    /** Requests that a plan can't hold: another method, a longer path or body, or one too many. */
    readonly unsupported: number;
  };
}
type Dropped = { -readonly [Reason in keyof ImportedLoad['dropped']]: number };

export type ImportResult = ImportedLoad | { readonly problem: string };

/** Reads an HTTP Archive, version 1.2, as browsers export it. */
export function importHar(text: string, hosts: readonly string[]): ImportResult {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: 'The file is not valid JSON.' };
  }
  const har = harSchema.safeParse(json);
  if (!har.success) return { problem: 'The file is not an HTTP Archive (HAR).' };
  const dropped: Dropped = { otherHosts: 0, credentials: 0, withCredentials: 0, unsupported: 0 };
  const requests = har.data.log.entries.flatMap(({ request }) => {
    const body = request.postData?.text ?? '';
    const headers = request.headers.filter(({ name }) => KEPT_HEADERS.includes(name.toLowerCase()));
    const target = targetOf(request.url, hosts);
    if (target === null) {
      dropped.otherHosts += 1;
      return [];
    }
    dropped.credentials += request.headers.filter(({ name }) => isCredential(name)).length;
    if (hasCredentials(target, body)) {
      dropped.withCredentials += 1;
      return [];
    }
    const kept = Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
    return [{ method: request.method, path: target.pathname + target.search, headers: kept, body, weight: 1 }];
  });
  return toLoad(requests, dropped);
}

/** Reads lines such as `/`, `https://shop.example.com/cart` or `POST /orders 3`: method, path or URL, weight. */
export function importUrls(text: string, hosts: readonly string[]): ImportResult {
  const dropped: Dropped = { otherHosts: 0, credentials: 0, withCredentials: 0, unsupported: 0 };
  const requests: FoundRequest[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const parts = /^\s*(?:([A-Za-z]+)\s+)?(\/\S*|https?:\/\/\S+)(?:\s+(\d{1,4}))?\s*$/.exec(line);
    if (parts === null) return { problem: `Line ${at + 1} is not a method, a path or URL, and a weight.` };
    const [, method = 'GET', url = '', weight = '1'] = parts;
    const target = targetOf(url, hosts);
    if (target === null) dropped.otherHosts += 1;
    else if (hasCredentials(target, '')) dropped.withCredentials += 1;
    else {
      const path = target.pathname + target.search;
      requests.push({ method: method.toUpperCase(), path, headers: {}, body: '', weight: Number(weight) });
    }
  }
  return toLoad(requests, dropped);
}

/** Returns null for another host and for text that is no URL. */
function targetOf(url: string, hosts: readonly string[]): URL | null {
  if (!URL.canParse(url, 'https://own.invalid')) return null;
  const target = new URL(url, 'https://own.invalid');
  if (target.protocol !== 'https:' && target.protocol !== 'http:') return null;
  const isOwn = (host: string) =>
    host.startsWith('*.') ? target.hostname.endsWith(host.slice(1)) : host === target.hostname;
  return target.hostname === 'own.invalid' || hosts.some(isOwn) ? target : null;
}

function hasCredentials(target: URL, body: string): boolean {
  const isParameter = (name: string) => isCredential(name) || CREDENTIAL_PARAMETERS.includes(name.toLowerCase());
  return [...target.searchParams.keys()].some(isParameter) || isCredential(body);
}

interface FoundRequest extends Omit<LoadRequest, 'method'> {
  readonly method: string;
}

/** Merges equal requests into one with the sum of their weights. */
function toLoad(found: readonly FoundRequest[], dropped: Dropped): ImportedLoad {
  const merged = new Map<string, LoadRequest>();
  for (const request of found) {
    const method = loadMethods.find((each) => each === request.method);
    const isWhole = request.path.length <= PATH_CHARS_MAX && request.body.length <= BODY_CHARS_MAX;
    const hasBody = request.body !== '' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
    const key = JSON.stringify({ ...request, weight: 0 });
    const known = merged.get(key);
    if (method === undefined || !isWhole || hasBody || (known === undefined && merged.size >= REQUESTS_MAX)) {
      dropped.unsupported += 1;
      continue;
    }
    const weight = Math.min(WEIGHT_MAX, (known?.weight ?? 0) + request.weight);
    merged.set(key, { ...request, method, weight: Math.max(1, weight) });
  }
  return { requests: [...merged.values()], dropped };
}
