// Entry point for the limits on calls and live streams, counted for all web processes together.
export { type CallClaim, type ClaimedCalls, claimCalls } from './claim-calls.ts';
export { closeStream, openStream, type StreamLimits, streamSeenMs, touchStreams } from './open-stream.ts';
export { pruneRequests } from './prune-requests.ts';
