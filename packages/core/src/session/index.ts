// The door to what a signed-in person learns about themselves.
export * from './schema.ts';
