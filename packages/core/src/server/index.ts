export { type AcceptEnrolmentInput, type AcceptedEnrolment, acceptEnrolment } from './accept-enrolment.ts';
export { closeGatewaySessions, closeSession } from './close-session.ts';
export { findSessionServer, type SessionServer } from './find-session-server.ts';
export { type DesiredVersionRow, getDesiredVersions } from './get-desired-versions.ts';
export { type OpenedSession, type OpenSessionInput, openSession } from './open-session.ts';
export * from './schema.ts';
export { listSigningKeys, registerSigningKey, type SigningKeyRow } from './signing-key.ts';
export { touchSession } from './touch-session.ts';
