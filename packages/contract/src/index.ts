// Contract: messages that cross a process border. It imports no package of ours; generated messages are under ./agent.
export * from './errors.ts';
export * from './ids.ts';
export * from './jobs/index.ts';
export * from './live.ts';
export * from './metrics.ts';
export * from './notify.ts';
