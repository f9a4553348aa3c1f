export type { Account, AccountEventView, AccountView, Caller, SessionView } from './account.ts';
export { type AccountEventKind, accountEventKinds } from './account-event.ts';
export { type Auth, createAuth, type NewAccount, openPaths, type Session } from './create-auth.ts';
export { requireFresh } from './fresh.ts';
export type { GithubClient, GithubIdentity, GithubPerson, ProvenCode } from './github-identity.ts';
export { type AuthOptions, authPath } from './library.ts';
export { createSignedCookies, type SignedCookies } from './signed-cookies.ts';
