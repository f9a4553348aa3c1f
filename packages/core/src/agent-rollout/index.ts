export { advanceAgentRollout, listRunningRollouts } from './advance-agent-rollout.ts';
export { cancelAgentRollout } from './cancel-agent-rollout.ts';
export { getAgentRollout } from './get-agent-rollout.ts';
export { retryAgentRollout } from './retry-agent-rollout.ts';
export * from './schema.ts';
export { startAgentRollout } from './start-agent-rollout.ts';
