// Environment variables of an app in an environment: plain ones, which are settings, and secrets.
export { copyVariables } from './copy-variables.ts';
export { listVariables } from './list-variables.ts';
export * from './schema.ts';
export { updateVariables } from './update-variables.ts';
