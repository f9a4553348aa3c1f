// Limits the size of a request body. A body is read once, up to the limit, before it is parsed.

/** The largest input is a pasted file of secrets; a batch holds several calls. */
export const bodyBytesMax = 1024 * 1024;

export interface BodyBudget {
  /** Runs `work`, which may take bytes until it ends. `take` throws when others hold the rest. */
  hold<T>(work: (take: (bytes: number) => void) => Promise<T>): Promise<T>;
}

/** Bounds the bytes that all bodies of strangers hold in memory at a time. */
export function createBodyBudget(bytesMax: number): BodyBudget {
  let held = 0;
  return {
    hold: async (work) => {
      let own = 0;
      try {
        return await work((bytes) => {
          if (held + bytes > bytesMax) throw new Error('bodies of other requests take the memory for unverified ones');
          own += bytes;
          held += bytes;
        });
      } finally {
        held -= own;
      }
    },
  };
}

/** Returns the body; null if it is larger than `bytesMax`, whatever its Content-Length. */
export async function readBoundedBody(
  request: Request,
  bytesMax: number,
  take: (bytes: number) => void = () => undefined,
): Promise<Buffer<ArrayBuffer> | null> {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return null;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) return null;
    take(part.length);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Returns the same request with its body in memory; null if it is too large. */
export async function withBoundedBody(request: Request): Promise<Request | null> {
  if (request.body === null) return request;
  const body = await readBoundedBody(request, bodyBytesMax);
  if (body === null) return null;
  const { method, headers, signal } = request;
  return new Request(request.url, { method, headers, signal, body });
}
