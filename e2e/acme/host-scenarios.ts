// Scenarios of host checks and certificates together: ports, CAA records, aliases of proofs, and names that are no domains.
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { waitFor } from '../../tools/lib/wait.ts';
import { PROOF_ZONE, ZONE } from '../system/harness/pebble.ts';
import type { Scenario } from './scenario.ts';

export const hostScenarios: readonly Scenario[] = [
  {
    name: 'ports: only the proxies of the organization make a host ready',
    refusals: [],
    run: async (world) => {
      const host = `ports.${ZONE}`;
      const { id } = await world.attachReachable(host);
      const { arePortsChecked } = await world.waitForHostState(id, 'ready');
      if (!arePortsChecked) throw new Error('no port was asked');
      await world.waitForHttps(host);
      // Another web server at the address of a server answers on both ports.
      const { ownAddress, ports } = world.parts;
      const servers: [Server, number][] = [
        [createServer((_, response) => response.end('another site')), ports.http],
        [createTcpServer((socket) => socket.destroy()), ports.https],
      ];
      const [first, ...others] = world.addresses;
      try {
        for (const [server, port] of servers)
          await new Promise<void>((resolve) => server.listen(port, ownAddress, resolve));
        await world.enterAddress(0, ownAddress);
        await world.pebble.names.setAddresses(host, [ownAddress, ...others]);
        const { found } = await world.waitForHostState(id, 'port_taken');
        const taken = found?.ports.filter(({ answer }) => answer !== 'proxy').map(({ address }) => address);
        if (taken?.length !== 2 || taken.some((address) => address !== ownAddress))
          throw new Error(`taken: ${JSON.stringify(found?.ports)}`);
      } finally {
        for (const [server] of servers) await new Promise((resolve) => server.close(resolve));
        await world.enterAddress(0, first ?? '');
      }
    },
  },
  {
    name: 'CAA in the way: the host says so, nothing more is ordered, and the order follows the record',
    refusals: ['certificate.caa'],
    run: async (world) => {
      const host = `caa.${ZONE}`;
      const { names } = world.pebble;
      const addresses = world.addresses.map((address) => `A ${address}`);
      await names.setRecords(host, [...addresses, 'CAA 0 issue "other.example"']);
      // The authority refuses an order that comes before the first check.
      world.front.caaForbids.add(host);
      const { id } = await world.attach(host);
      const { found } = await world.waitForHostState(id, 'caa_blocks');
      if (found?.caa?.name !== host || found.caa.issuers[0] !== 'other.example')
        throw new Error(`found: ${JSON.stringify(found?.caa)}`);
      await world.waitForFailure(host, 'certificate.caa');
      const countOf = async () => (await world.orders()).filter((order) => order.host === host).length;
      const before = await countOf();
      await world.retry(id, host);
      await world.waitForCertificate(
        host,
        'the hold',
        ({ failure }) => failure?.message.includes('Nothing is ordered until then') === true,
      );
      if ((await countOf()) > before) throw new Error('it was ordered against the record');
      world.front.caaForbids.delete(host);
      await names.setRecords(host, [...addresses, `CAA 0 issue "${world.front.caaIdentity}"`]);
      await world.waitForHttps(host);
    },
  },
  {
    name: 'DNS-01: an alias of _acme-challenge is followed into another zone',
    refusals: [],
    run: async (world) => {
      const parent = 'delegated.other.test';
      await world.pebble.names.setRecords(`_acme-challenge.${parent}`, [`CNAME delegated.${PROOF_ZONE}.`]);
      await world.addDnsProvider(PROOF_ZONE);
      await world.attach(`*.${parent}`);
      await world.waitForHttps(`*.${parent}`, `one.${parent}`);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  {
    name: 'on demand: a name that is no domain gets no order, however often it is visited',
    refusals: [],
    run: async (world) => {
      const host = `unknown.${ZONE}`;
      await world.pebble.names.setAddresses(host, world.addresses);
      for (let visit = 0; visit < 20; visit += 1) {
        for (const address of world.addresses) {
          const status = await world.parts.visit(host, address);
          if (status !== undefined) throw new Error(`it answered ${status}`);
        }
      }
      // An order of a host that is known comes later than any of the other.
      await world.attachReachable(`known.${ZONE}`);
      const hasOrder = async () => (await world.orders()).some((order) => order.host === `known.${ZONE}`);
      await waitFor(hasOrder, { what: 'the order of a known host', timeoutMs: 60_000 });
      if ((await world.orders()).some((order) => order.host === host)) throw new Error('it was ordered');
      await world.waitForHttps(`known.${ZONE}`);
    },
  },
];
