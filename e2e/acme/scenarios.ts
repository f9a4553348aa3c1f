// Scenarios of certificates against a real authority. The system test runs those that are quick; `npm run check:certificates`
// runs all, on two servers.
import { createServer } from 'node:http';
import { waitFor } from '../../tools/lib/wait.ts';
import { ZONE } from '../system/harness/pebble.ts';
import { hostScenarios } from './host-scenarios.ts';
import { renewalScenarios } from './renewal-scenarios.ts';
import { renew, type Scenario } from './scenario.ts';

export const scenarios: readonly Scenario[] = [
  {
    name: 'HTTP-01: every server of an app serves the certificate',
    isQuick: true,
    refusals: [],
    run: async (world) => {
      await world.attachReachable(`shop.${ZONE}`);
      await world.waitForHttps(`shop.${ZONE}`);
    },
  },
  {
    name: 'DNS-01: a wildcard waits for a provider, and its record leaves the zone',
    isQuick: true,
    refusals: [],
    run: async (world) => {
      const host = `*.apps.${ZONE}`;
      await world.attach(host);
      await world.waitForFailure(host, 'certificate.no_dns_provider');
      await world.pebble.names.hideFor(3000);
      await world.addDnsProvider();
      await world.waitForHttps(host, `one.apps.${ZONE}`);
      await world.pebble.names.hideFor(0);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  {
    name: 'TLS-ALPN-01: a host without port 80 is proven by its handshake',
    isQuick: true,
    refusals: ['certificate.unreachable'],
    run: async (world) => {
      const host = `closed.${ZONE}`;
      const way = await world.openHttpsOnly();
      try {
        await world.pebble.names.setAddresses(host, [way.address]);
        await world.attach(host);
        await world.waitForHttps(host);
        // The challenge that worked is used again.
        await renew(world, host);
      } finally {
        await way.close();
      }
    },
  },
  {
    name: 'wrong DNS: the reason is shown, and an order on demand succeeds once the record is right',
    isQuick: true,
    refusals: ['certificate.unreachable', 'certificate.dns'],
    run: async (world) => {
      const host = `lost.${ZONE}`;
      const { id } = await world.attach(host);
      const failed = await world.waitForCertificate(host, 'a failed order', ({ failure }) => failure !== null);
      if (failed.state === 'issued') throw new Error(`${host} has a certificate`);
      await world.waitForCertificate(host, 'a pause', ({ nextAttemptAt }) => nextAttemptAt !== null);
      await world.pebble.names.setAddresses(host, world.addresses);
      await waitFor(
        () =>
          world.retry(id, host).then(
            () => true,
            () => false,
          ),
        { what: 'a retry', timeoutMs: 60_000 },
      );
      await world.waitForHttps(host);
    },
  },
  {
    name: 'DNS-01: a host that no authority reaches is proven by its zone',
    refusals: [],
    run: async (world) => {
      const host = `inside.${ZONE}`;
      await world.addDnsProvider(ZONE, true);
      await world.attach(host);
      await world.waitForHttps(host);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  {
    name: 'wrong DNS: another server answers for the name',
    refusals: ['certificate.wrong_answer', 'certificate.unreachable'],
    run: async (world) => {
      const host = `foreign.${ZONE}`;
      const { ports, ownAddress } = world.parts;
      const foreign = createServer((_, response) => response.end('another site'));
      await new Promise<void>((resolve) => foreign.listen(ports.http, ownAddress, resolve));
      try {
        await world.pebble.names.setAddresses(host, [ownAddress]);
        const { id } = await world.attach(host);
        await world.waitForFailure(host, 'certificate.wrong_answer');
        await world.pebble.names.setAddresses(host, world.addresses);
        await world.retry(id, host);
        await world.waitForHttps(host);
      } finally {
        await new Promise((resolve) => foreign.close(resolve));
      }
    },
  },
  {
    name: 'renewal: at the time that the authority wants (ARI), well before a short lifetime ends',
    refusals: [],
    run: async (world) => {
      const host = `shop.${ZONE}`;
      const { renewAt, notAfter } = (await world.certificate(host)) ?? {};
      if (!renewAt || !notAfter || renewAt >= notAfter) throw new Error('it has no time of renewal');
      const isNew = ({ notAfter: next }: { notAfter: Date | null }) => next !== null && next > notAfter;
      await world.waitForCertificate(host, 'a renewal', isNew, notAfter.getTime() - Date.now());
      await world.waitForHttps(host);
    },
  },
  {
    name: 'renewal: a wildcard by DNS-01, with a fresh record',
    refusals: [],
    run: async (world) => {
      const host = `*.apps.${ZONE}`;
      await world.addDnsProvider();
      await world.attach(host);
      await world.waitForHttps(host, `one.apps.${ZONE}`);
      await renew(world, host, `two.apps.${ZONE}`);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  {
    name: 'nonces: every third request is refused for its nonce, and repeated',
    refusals: [],
    run: async (world) => {
      const before = world.front.rejected;
      world.front.rejectsNonces = true;
      await world.attachReachable(`nonce.${ZONE}`);
      await world.waitForHttps(`nonce.${ZONE}`);
      world.front.rejectsNonces = false;
      if (world.front.rejected - before < 3) throw new Error('the authority rejected no nonces');
    },
  },
  {
    name: 'revoked account: a new account takes its place',
    refusals: ['certificate.account_revoked'],
    run: async (world) => {
      world.front.revokeAccounts();
      await world.attachReachable(`account.${ZONE}`);
      await world.waitForHttps(`account.${ZONE}`);
    },
  },
  {
    name: 'rate limit: the authority names the time of the next order, and hosts of the domain wait for it',
    refusals: ['certificate.rate_limited'],
    run: async (world) => {
      world.front.limitSeconds = 7200;
      await world.attachReachable(`limited.${ZONE}`);
      const { nextAttemptAt } = await world.waitForFailure(`limited.${ZONE}`, 'certificate.rate_limited');
      world.front.limitSeconds = null;
      const waitMs = (nextAttemptAt?.getTime() ?? 0) - Date.now();
      if (waitMs < 7000_000 || waitMs > 7300_000) throw new Error(`the next order is in ${waitMs} ms`);
      // Another host of the registered domain waits without an order of its own.
      await world.attachReachable(`sibling.${ZONE}`);
      await world.waitForFailure(`sibling.${ZONE}`, 'certificate.rate_limited');
      if ((await world.orders()).some(({ host }) => host === `sibling.${ZONE}`)) throw new Error('it was ordered');
      await world.parts.system.asSystem(({ tx }) => tx.acmeOrder.updateMany({ data: { limitedUntil: null } }));
      for (const host of [`limited.${ZONE}`, `sibling.${ZONE}`]) {
        await world.endPause(host);
        await world.waitForHttps(host);
      }
    },
  },
  {
    name: 'authority down: certificates keep serving, and orders go on by themselves once it is back',
    refusals: ['certificate.authority_unreachable'],
    run: async (world) => {
      const { system } = world.parts;
      world.front.isDown = true;
      const host = `patient.${ZONE}`;
      await world.attachReachable(host);
      await world.waitForFailure(host, 'certificate.authority_unreachable');
      // As after days: the next order is hours away.
      await system.asSystem(({ tx }) =>
        tx.certificate.updateMany({ where: { host }, data: { nextAttemptAt: new Date(Date.now() + 12 * 3_600_000) } }),
      );
      const isSeen = () => system.asSystem(({ tx }) => tx.acmeAccount.count({ where: { downSince: { not: null } } }));
      await waitFor(async () => (await isSeen()) > 0, { what: 'an authority seen as down', timeoutMs: 120_000 });
      for (const address of world.addresses) {
        const status = await world.parts.visit(`shop.${ZONE}`, address);
        if (status !== 200) throw new Error(`without its authority, shop.${ZONE} answered ${status} at ${address}`);
      }
      world.front.isDown = false;
      await world.waitForCertificate(
        host,
        'a certificate after the outage',
        ({ state }) => state === 'issued',
        180_000,
      );
      await world.waitForHttps(host);
    },
  },
  {
    name: 'agent killed in the middle of an order: the order is done once, and no record is left',
    refusals: [],
    run: async (world) => {
      const host = `*.killed.${ZONE}`;
      // The record is not shown, so the order waits in its middle.
      await world.pebble.names.hideFor(15_000);
      await world.addDnsProvider();
      await world.attach(host);
      const isOpen = async () => (await world.pebble.names.state()).texts.some((text) => text.includes('killed'));
      await waitFor(isOpen, { what: 'a record in the zone', timeoutMs: 60_000 });
      for (const { agentPid } of world.parts.servers) {
        const pid = agentPid();
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
      }
      await world.pebble.names.hideFor(0);
      await world.waitForHttps(host, `one.killed.${ZONE}`);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  {
    name: 'domain removed in the middle of an order: its record leaves the zone',
    refusals: ['certificate.cancelled'],
    run: async (world) => {
      const { system } = world.parts;
      const host = `*.short.${ZONE}`;
      await world.pebble.names.hideFor(60_000);
      await world.addDnsProvider();
      await world.attach(host);
      const isOpen = async () => (await world.pebble.names.state()).texts.some((text) => text.includes('short'));
      await waitFor(isOpen, { what: 'a record in the zone', timeoutMs: 60_000 });
      await system.asSystem(({ tx }) => tx.domain.deleteMany({ where: { host } }));
      await world.waitForNoRecords();
      await world.pebble.names.hideFor(0);
      await world.removeDnsProviders();
    },
  },
  {
    name: 'DNS provider refuses its credentials: the order ends with the reason, and new ones mend it',
    refusals: ['certificate.dns_provider'],
    run: async (world) => {
      const host = `*.locked.${ZONE}`;
      const { key } = world.pebble.names;
      const right = key.secret;
      await world.addDnsProviderWith(Buffer.alloc(32).toString('base64'));
      await world.attach(host);
      const { failure } = await world.waitForFailure(host, 'certificate.dns_provider');
      if (failure?.message.includes(right) === true) throw new Error('the failure shows a key');
      await world.removeDnsProviders();
      await world.addDnsProvider();
      await world.waitForHttps(host, `one.locked.${ZONE}`);
      await world.waitForNoRecords();
      await world.removeDnsProviders();
    },
  },
  ...renewalScenarios,
  ...hostScenarios,
];
