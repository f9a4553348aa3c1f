export {
  claimDueHosts,
  type DueHost,
  type HostCheck,
  pruneHosts,
  recordHostCheck,
} from './check-hosts.ts';
export { claimHost } from './claim-host.ts';
export { classifyHost, type ExpectedServer, readCaa } from './classify-host.ts';
export { findUnservedHosts } from './conflicts.ts';
export { findVerifiedHosts } from './find-verified.ts';
export { getHost, readHost } from './get-host.ts';
export { type PortCheck, portCheckOf } from './port-check.ts';
export { requireHostOf } from './proofs.ts';
export { addressRecords, challengeLabel, challengeName, provenName, zoneOf } from './records.ts';
export { releaseHost } from './release-host.ts';
export * from './schema.ts';
export { loadHosts, readFindings } from './store.ts';
export { acceptHost, transferHost } from './transfer-host.ts';
export { hastenCheck, verifyHost } from './verify-host.ts';
