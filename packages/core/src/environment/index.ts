export { createEnvironment } from './create-environment.ts';
export { deleteEnvironment } from './delete-environment.ts';
export { listEnvironments } from './list-environments.ts';
export * from './schema.ts';
export { updateEnvironment } from './update-environment.ts';
