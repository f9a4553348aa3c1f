export { type AcceptEnrolmentInput, type AcceptedEnrolment, acceptEnrolment } from './accept-enrolment.ts';
export { bumpLocalServers } from './bump-local-servers.ts';
export { bumpServer, bumpServersOf } from './bump-server.ts';
export {
  missingBuildCapability,
  missingCapability,
  missingCapabilityMessage,
  policyCapabilities,
} from './capabilities.ts';
export { closeGatewaySessions, closeSession } from './close-session.ts';
export { type CreatedEnrolment, createEnrolment } from './create-enrolment.ts';
export { deleteServer } from './delete-server.ts';
export type { ControlRoute } from './desired-state.ts';
export { endLostUpgrades } from './end-lost-upgrades.ts';
export { findSessionServer, type SessionServer } from './find-session-server.ts';
export { type DesiredVersionRow, getDesiredVersions } from './get-desired-versions.ts';
export { getEnrolment } from './get-enrolment.ts';
export { getServer } from './get-server.ts';
export { listServers } from './list-servers.ts';
export { type OpenedSession, type OpenSessionInput, openSession } from './open-session.ts';
export { recordAgent } from './record-agent.ts';
export { type RenderInput, renderDesiredState } from './render-desired-state.ts';
export { enrolmentCommand, isConnected } from './rules.ts';
export * from './schema.ts';
export { listSigningKeys, registerSigningKey, type SigningKeyRow } from './signing-key.ts';
export { startNewEpoch } from './start-new-epoch.ts';
export { hasServer, loadServers } from './store.ts';
export { touchSession } from './touch-session.ts';
export { updateProxy } from './update-proxy.ts';
export { upgradeServer } from './upgrade-server.ts';
