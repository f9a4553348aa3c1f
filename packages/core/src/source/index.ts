export { type BuildSource, buildSourceOf, hostOf, kindOf, opens } from './build-source.ts';
export { parseRefs } from './parse-refs.ts';
export { registryHost, repositoryHost } from './rules.ts';
export * from './schema.ts';
