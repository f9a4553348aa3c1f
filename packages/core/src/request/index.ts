// The door to how many calls and streams anybody may have, counted for all web processes together.
export { type CallClaim, type ClaimedCalls, claimCalls } from './claim-calls.ts';
export { closeStream, openStream, type StreamLimits, streamSeenMs, touchStreams } from './open-stream.ts';
export { pruneRequests } from './prune-requests.ts';
