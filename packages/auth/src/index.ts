// The door to identity.
export { type Auth, type AuthOptions, authPath, createAuth, type NewAccount, type Session } from './create-auth.ts';
