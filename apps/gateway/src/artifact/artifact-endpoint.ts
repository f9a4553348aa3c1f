// Artifact endpoint for servers: PUT, GET and HEAD /agent/artifacts/<sha256>, authenticated with the token of the open
// session. Transfers resume where they stopped; core decides access, the store holds the bytes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ArtifactStore, artifactBytesMax, type Transfer, type TransferQuery } from '@fairlead/core/artifact';
import type { Log } from '@fairlead/core/kernel';
import { refuse } from '../live/stream.ts';

const pathPattern = /^\/agent\/artifacts\/([0-9a-f]{64})$/;
/** Idle timeout of an upload in milliseconds; the sender resumes later. */
const idleMs = 60_000;

export interface ArtifactEndpointOptions {
  readonly store: ArtifactStore;
  /** Returns null when no open session has that token. */
  readonly find: (query: TransferQuery) => Promise<Transfer | null>;
  readonly record: (transfer: Transfer, digest: string, sizeBytes: number) => Promise<void>;
  readonly log: Log;
}

export interface ArtifactEndpoint {
  /** Returns false when the path does not belong to this endpoint. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean>;
}

export function createArtifactEndpoint(options: ArtifactEndpointOptions): ArtifactEndpoint {
  const { store } = options;
  return {
    handle: async (request, response, path) => {
      const hex = pathPattern.exec(path)?.[1];
      if (hex === undefined) return false;
      const token = /^Bearer ([\w-]{20,100})$/.exec(request.headers.authorization ?? '')?.[1];
      // A read names no work.
      const named = (header: 'fairlead-deployment' | 'fairlead-volume-task') => {
        const value = request.headers[header];
        return request.method === 'GET' || typeof value !== 'string' ? null : value;
      };
      const work = { deploymentId: named('fairlead-deployment'), volumeTaskId: named('fairlead-volume-task') };
      const transfer = token === undefined ? null : await options.find({ token, digest: `sha256:${hex}`, ...work });
      if (transfer === null) drain(response, () => refuse(response, 'session.required'));
      else if (request.method === 'HEAD') await head(transfer, hex, response);
      else if (request.method === 'GET') await get(transfer, hex, request, response);
      else if (request.method === 'PUT') await put(transfer, hex, request, response);
      else drain(response, () => response.writeHead(405, { allow: 'GET, HEAD, PUT' }).end());
      return true;
    },
  };

  async function head(transfer: Transfer, hex: string, response: ServerResponse): Promise<void> {
    const key = { organizationId: transfer.organizationId, hex };
    const size = transfer.mayRead || transfer.mayWrite ? await store.size(key) : null;
    if (size !== null) {
      response.writeHead(200, { 'content-length': size, 'accept-ranges': 'bytes' }).end();
      return;
    }
    const offset = transfer.mayWrite ? await store.offset(key, transfer.serverId) : 0;
    if (offset > 0) response.writeHead(200, { 'upload-offset': offset }).end();
    else response.writeHead(404).end();
  }

  async function get(
    transfer: Transfer,
    hex: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const key = { organizationId: transfer.organizationId, hex };
    const size = transfer.mayRead ? await store.size(key) : null;
    if (size === null) return refuse(response, 'artifact.not_found');
    const range = readRange(request.headers.range, size);
    if (range === null) {
      response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
      return;
    }
    const { from, to, isPart } = range;
    response.writeHead(isPart ? 206 : 200, {
      'content-type': 'application/octet-stream',
      'content-length': Math.max(0, to - from + 1),
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
      ...(isPart ? { 'content-range': `bytes ${from}-${to}/${size}` } : {}),
    });
    if (to < from) {
      response.end();
      return;
    }
    await pipeline(Readable.from(store.read(key, from, to)), response).catch((error: unknown) =>
      options.log.debug(
        { err: error, serverId: transfer.serverId },
        'a download broke off; the server goes on with it',
      ),
    );
  }

  async function put(
    transfer: Transfer,
    hex: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const key = { organizationId: transfer.organizationId, hex };
    const digest = `sha256:${hex}`;
    if (!transfer.mayWrite) return drain(response, () => refuse(response, 'artifact.not_found'));
    const part = readPart(request);
    if (part === null) return drain(response, () => refuse(response, 'input.invalid'));
    if (part.totalBytes > artifactBytesMax) return drain(response, () => refuse(response, 'request.too_large'));
    const known = await store.touch(key);
    if (known !== null) {
      // The artifact exists: another server sent it, or the response to an earlier upload was lost. The row may have
      // been pruned since.
      await options.record(transfer, digest, known);
      return drain(response, () => response.writeHead(201, { 'content-length': 0 }).end());
    }
    request.setTimeout(idleMs, () => request.destroy());
    const result = await store.append(key, transfer.serverId, { ...part, bytes: request });
    switch (result.kind) {
      case 'whole':
        await options.record(transfer, digest, result.sizeBytes);
        response.writeHead(201, { 'content-length': 0 }).end();
        return;
      case 'partial':
        response.writeHead(202, { 'upload-offset': result.offset, 'content-length': 0 }).end();
        return;
      case 'wrong_offset':
        return drain(response, () =>
          response.writeHead(409, { 'upload-offset': result.offset, 'content-length': 0 }).end(),
        );
      case 'no_room':
        return drain(response, () => refuse(response, 'artifact.no_room'));
      case 'busy':
        return drain(response, () => refuse(response, 'request.too_many'));
      case 'wrong_digest':
        response.writeHead(422, { 'content-length': 0 }).end();
        return;
    }
  }
}

/** Closes the connection with the response, so that the unread body never blocks the next request. */
function drain(response: ServerResponse, answer: () => unknown): void {
  response.setHeader('connection', 'close');
  answer();
}

/**
 * Returns null when the range cannot be satisfied. Supports only `bytes=from-` and `bytes=from-to`; any other range
 * gets the whole file, as RFC 9110 allows.
 */
function readRange(header: string | undefined, size: number) {
  const whole = { from: 0, to: size - 1, isPart: false };
  const [, first, last] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined) return whole;
  const from = Number(first);
  const to = last === undefined || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return from >= size || to < from ? null : { from, to, isPart: true };
}

/**
 * Treats the body as the whole file when there is no Content-Range. Returns null when the headers contradict each
 * other.
 */
function readPart({ headers }: IncomingMessage): { offset: number; totalBytes: number } | null {
  const [, first, last, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers['content-range'] ?? '') ?? [];
  if (headers['content-range'] === undefined) {
    const length = Number(headers['content-length'] ?? Number.NaN);
    return Number.isSafeInteger(length) ? { offset: 0, totalBytes: length } : null;
  }
  const [from, to, totalBytes] = [Number(first), Number(last), Number(total)];
  return first !== undefined && from <= to && to < totalBytes ? { offset: from, totalBytes } : null;
}
