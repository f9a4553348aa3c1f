// Decodes a WebSocket frame to a message of the protocol, or returns the reason for its refusal. Invariant: checks the
// cost of decoding before it decodes, because it owns every limit on an agent's messages.
import { fromBinary } from '@bufbuild/protobuf';
import { type AgentEnvelope, AgentEnvelopeSchema } from '@fairlead/contract/agent';
import type { LinkErrorCode } from '@fairlead/contract/errors';
import { decodedSize } from './decoded-size.ts';

/** Maximum size of a message; a larger one ends the connection. The agent keeps its logs and frames well below. */
export const messageBytesMax = 1024 * 1024;
/** Maximum size of a message before authentication: hello, proof and enrolment are small. */
export const handshakeBytesMax = 16 * 1024;
/** Maximum total of bytes during the handshake, in whole messages or not. */
export const handshakeTotalBytesMax = 4 * handshakeBytesMax;
const decodedBytesMax = 16 * messageBytesMax;

// The agent cuts at 256 KiB of text plus 32 bytes a line. Watchers get a chunk as one event, and JSON takes up to six
// characters for one byte: twice the agent's own bound still fits what the web process reads at once.
const logBytesMax = 512 * 1024;
const logLinesMax = 10_000;
const itemsMax = 5_000;

export type Read =
  | { readonly envelope: AgentEnvelope; readonly decodedBytes: number }
  | { readonly refused: LinkErrorCode };

export function readMessage(bytes: Uint8Array, isBinary: boolean, isOpen: boolean): Read {
  if (bytes.length > (isOpen ? messageBytesMax : handshakeBytesMax)) return { refused: 'link.too_large' };
  if (!isBinary) return { refused: 'link.malformed' };
  try {
    const decodedBytes = decodedSize(AgentEnvelopeSchema, bytes, decodedBytesMax);
    if (decodedBytes > decodedBytesMax) return { refused: 'link.too_large' };
    const envelope = fromBinary(AgentEnvelopeSchema, bytes);
    return isTooLong(envelope, bytes.length) ? { refused: 'link.too_large' } : { envelope, decodedBytes };
  } catch {
    // Every decoder error means the same: the bytes are not a message of this protocol.
    return { refused: 'link.malformed' };
  }
}

function isTooLong({ body }: AgentEnvelope, bytes: number): boolean {
  if (body.case === 'report') {
    const { instances, builds, rollouts, benchmarks } = body.value;
    return [instances, builds, rollouts, benchmarks].some((list) => list.length > itemsMax);
  }
  if (body.case !== 'push') return false;
  const push = body.value.body;
  if (push.case === 'log') return push.value.lines.length > logLinesMax || bytes > logBytesMax;
  return push.case === 'frame' && push.value.apps.length > itemsMax;
}
