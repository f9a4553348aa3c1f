// The contract: what crosses a process border. Imports no package of ours; generated messages are under ./agent.
export * from './errors.ts';
export * from './ids.ts';
export * from './jobs/index.ts';
export * from './live.ts';
export * from './metrics.ts';
export * from './notify.ts';
