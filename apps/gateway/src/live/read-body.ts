// Reads the JSON body of a request of the web process.
import type { IncomingMessage } from 'node:http';

const bodyBytesMax = 64 * 1024;

/** Returns null when the body is too long or not JSON. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > bodyBytesMax) return null;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
