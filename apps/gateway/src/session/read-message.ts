// From a WebSocket frame to a message of the protocol, or to the reason why it is none. Owns every bound on what an agent
// may send at once; must never decode before it knows what that would cost.
import { fromBinary } from '@bufbuild/protobuf';
import { type AgentEnvelope, AgentEnvelopeSchema } from '@fairlead/contract/agent';
import type { LinkErrorCode } from '@fairlead/contract/errors';
import { decodedSize } from './decoded-size.ts';

/** Larger messages end the connection; the agent keeps its logs and frames well below. */
export const messageBytesMax = 1024 * 1024;
/** Before the handshake is over: hello, proof and enrolment are small, and whoever sends them may be anybody. */
export const strangerBytesMax = 16 * 1024;
/** All of the handshake together, whole messages or not. */
export const strangerTotalBytesMax = 4 * strangerBytesMax;
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
  if (bytes.length > (isOpen ? messageBytesMax : strangerBytesMax)) return { refused: 'link.too_large' };
  if (!isBinary) return { refused: 'link.malformed' };
  try {
    const decodedBytes = decodedSize(AgentEnvelopeSchema, bytes, decodedBytesMax);
    if (decodedBytes > decodedBytesMax) return { refused: 'link.too_large' };
    const envelope = fromBinary(AgentEnvelopeSchema, bytes);
    return isTooLong(envelope, bytes.length) ? { refused: 'link.too_large' } : { envelope, decodedBytes };
  } catch {
    // Whatever the decoder objects to, the answer is the same: this is no message of ours.
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
