// Lets the specs, which run in another process, set records of the run's DNS server.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestDnsRecord, TestDnsServer } from '@fairlead/testkit/dns-server';

export interface DnsControl {
  readonly url: string;
  close(): Promise<void>;
}

export async function startDnsControl(dns: TestDnsServer): Promise<DnsControl> {
  const server = createServer(async (request, response) => {
    const { name, records } = JSON.parse(await text(request)) as { name: string; records: TestDnsRecord[] };
    dns.set(name, records);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Replaces the records of a name. */
export async function setDnsRecords(name: string, records: readonly TestDnsRecord[]): Promise<void> {
  const url = process.env.FAIRLEAD_E2E_DNS ?? '';
  const { ok } = await fetch(url, { method: 'POST', body: JSON.stringify({ name, records }) });
  if (!ok) throw new Error('the DNS server of the tests did not take the records');
}
