export type { DnsClient, DnsFailure, TxtRecord } from './client.ts';
export { createDnsProvider } from './create-dns-provider.ts';
export { deleteDnsProvider } from './delete-dns-provider.ts';
export { listDnsProviders } from './list-dns-providers.ts';
export * from './schema.ts';
export { type HostZone, loadZones, openCredentials } from './store.ts';
export { updateDnsProvider } from './update-dns-provider.ts';
export { prepareDnsProviderTest, verifyDnsProvider } from './verify-dns-provider.ts';
