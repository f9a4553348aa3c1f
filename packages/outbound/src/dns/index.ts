export { createDnsClient, type DnsClient } from './client.ts';
export { type DnsCredentials, openDnsProvider } from './provider.ts';
