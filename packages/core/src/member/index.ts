// The door to members.
export { type ActiveMember, findActiveMember } from './find-active-member.ts';
export { listMembers } from './list-members.ts';
export * from './schema.ts';
