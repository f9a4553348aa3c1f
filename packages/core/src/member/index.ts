export { deleteMember, leaveOrganization } from './delete-member.ts';
export { type ActiveMember, findActiveMember } from './find-active-member.ts';
export { listMembers } from './list-members.ts';
export * from './schema.ts';
export { lockMembership } from './store.ts';
export { transferOrganization } from './transfer-organization.ts';
export { updateMember } from './update-member.ts';
