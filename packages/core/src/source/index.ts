// The door to what an app's source may look like.
export { parseRefs } from './parse-refs.ts';
export * from './schema.ts';
