// Settings, as servers and deployments read them. Their update needs both of them, so updateConfig is in app.
export { type BenchmarkGateSettings, gateLoadMs, gateWarmupMs } from './benchmark-gate.ts';
export { diffSettings } from './diff-settings.ts';
export { getConfig } from './get-config.ts';
export { getConfigVersion, loadRestorable } from './get-config-version.ts';
export { listConfigs } from './list-configs.ts';
export {
  isSameNetwork,
  isWithinNetwork,
  listensOnSocket,
  opensNetwork,
  runCommandsIn,
  variablesIn,
} from './rules.ts';
export * from './schema.ts';
export { findConfigVersion, findNewestConfig, loadSettings, type StoredConfig } from './store.ts';
