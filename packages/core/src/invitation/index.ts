export { acceptInvitation, readInvitation, requireInvitation } from './accept-invitation.ts';
export {
  createInvitation,
  type MintedInvitation,
  revokeInvitation,
  rotateInvitation,
  touchInvitation,
} from './create-invitation.ts';
export { invitationMail } from './invitation-mail.ts';
export { listInvitations } from './list-invitations.ts';
export {
  claimsMax,
  invitationLifetimeMs,
  invitationsPerHourMax,
  invitationUrl,
  renewalGapMs,
} from './rules.ts';
export * from './schema.ts';
