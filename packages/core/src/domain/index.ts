export { attachDomain } from './attach-domain.ts';
export { createRoute, lockHosts } from './create-route.ts';
export { detachDomain } from './detach-domain.ts';
export { getDomain } from './get-domain.ts';
export { listDomains } from './list-domains.ts';
export { type HostPolicy, isReservedHost } from './reserved-host.ts';
export { type AppLinks, domainLabel, domainUrl, hasPolicy } from './rules.ts';
export * from './schema.ts';
export { updateDomainPolicy } from './update-domain-policy.ts';
