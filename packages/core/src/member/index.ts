export { deleteMember, leaveOrganization } from './delete-member.ts';
export { type ActiveMember, findActiveMember } from './find-active-member.ts';
export { listMembers } from './list-members.ts';
export { lockMembership } from './membership-lock.ts';
export * from './schema.ts';
export { transferOrganization } from './transfer-organization.ts';
export { updateMember } from './update-member.ts';
