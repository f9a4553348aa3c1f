export { createToken, requireOwn } from './create-token.ts';
export { type ActiveToken, findActiveToken } from './find-active-token.ts';
export { listMemberTokens } from './list-member-tokens.ts';
export { listTokens } from './list-tokens.ts';
export { revokeMemberToken } from './revoke-member-token.ts';
export { revokeToken } from './revoke-token.ts';
export * from './schema.ts';
export { endToken, insertToken, tokenColumns, toTokenView } from './store.ts';
