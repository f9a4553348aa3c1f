// The door to domains.
export { attachDomain } from './attach-domain.ts';
export { detachDomain } from './detach-domain.ts';
export { listDomains } from './list-domains.ts';
export { type AppLinks, domainUrl, type HostPolicy, isReservedHost } from './rules.ts';
export * from './schema.ts';
