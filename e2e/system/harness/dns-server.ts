// DNS server of a test network, in a process of its own in the network of the switch: `node dns-server.ts ADDRESS NAME=ADDRESS…`.
import { isIPv4 } from 'node:net';
import { startDnsServer } from '@fairlead/testkit/dns-server';

const PORT = 53;

const [listen = '', ...entries] = process.argv.slice(2);
const pairs = entries.map((entry) => entry.split('=') as [string, string]);
const dns = await startDnsServer({ address: listen, port: PORT });
for (const [name, own] of Map.groupBy(pairs, ([each]) => each)) {
  dns.set(
    name,
    own.map(([, value]) => ({ type: isIPv4(value) ? 'A' : 'AAAA', value })),
  );
}
process.stdout.write('ready\n');
