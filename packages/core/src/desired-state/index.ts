export { benchmarkPlan } from './benchmark-plan.ts';
export {
  missingBenchmarkCapability,
  missingBuildCapability,
  missingCapability,
  missingCapabilityMessage,
  policyCapabilities,
} from './capabilities.ts';
export { loadAddresses } from './load-addresses.ts';
export { prepareDesiredState } from './prepare-desired-state.ts';
export type { RenderInput } from './render-desired-state.ts';
export { type ControlRoute, controlRoutes } from './to-desired-state.ts';
