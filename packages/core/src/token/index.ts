// The door to API tokens.
export { createToken, requireOwn } from './create-token.ts';
export { type ActiveToken, findActiveToken } from './find-active-token.ts';
export { listTokens } from './list-tokens.ts';
export { revokeToken } from './revoke-token.ts';
export * from './schema.ts';
export { endToken, insertToken, tokenColumns, toTokenView } from './store.ts';
