// The door to identity.
export { type Auth, createAuth, type NewAccount, type Session } from './create-auth.ts';
export { requireFresh } from './fresh.ts';
export { type AuthOptions, authPath } from './library.ts';
