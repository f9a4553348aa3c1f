// Settings, as servers and deployments read them; app changes them.
export { diffSettings } from './diff.ts';
export { getConfig } from './get-config.ts';
export { listConfigs } from './list-configs.ts';
export { isSameNetwork, isWithinNetwork, opensNetwork } from './network.ts';
export { runCommandsIn } from './run-commands.ts';
export * from './schema.ts';
export { findNewestConfig, loadSettings, type Place, requirePlace, type StoredConfig } from './store.ts';
export { variablesIn } from './variables.ts';
