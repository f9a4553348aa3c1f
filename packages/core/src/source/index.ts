// The door to what an app's source may look like.
export * from './schema.ts';
