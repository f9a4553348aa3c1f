export { type BuildSource, buildSourceOf, credentialsFor, hostOf, kindOf, opens } from './build-source.ts';
export { parseRefs } from './parse-refs.ts';
export { fromScpForm, registryHost, repositoryHost } from './rules.ts';
export * from './schema.ts';
