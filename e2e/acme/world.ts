// Certificate authority, DNS server and Fairlead for scenarios of certificates, and what a scenario does with them: it adds
// hosts, visits them as a client that trusts only the authority's root, and reads the outcome of every order.

import { createPrivateKey } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AppId, DomainId, ServerId } from '@fairlead/contract/ids';
import type { CertificateEntry } from '@fairlead/core/certificate';
import { createDnsProvider } from '@fairlead/core/dns-provider';
import { getHost, type HostState, type HostView, verifyHost } from '@fairlead/core/host';
import { updateAddresses } from '@fairlead/core/server';
import { waitFor } from '../../tools/lib/wait.ts';
import type { AcmeFront } from '../system/harness/acme-front.ts';
import { type Pebble, ZONE } from '../system/harness/pebble.ts';
import type { System } from '../system/harness/system.ts';

export interface WorldServer {
  readonly id: ServerId;
  readonly address: string;
  /** Process of its agent's `run`; undefined while it restarts. */
  readonly agentPid: () => number | undefined;
}

export interface WorldParts {
  readonly system: System;
  readonly pebble: Pebble;
  readonly front: AcmeFront;
  readonly ports: { readonly http: number; readonly https: number };
  /** Servers of the app. */
  readonly servers: readonly WorldServer[];
  /** Address of the test's side, which has no server of the app. */
  readonly ownAddress: string;
  readonly appId: AppId;
  /** Sends a request as a visitor who trusts only Pebble's root; returns the status, or undefined without a connection. */
  readonly visit: (host: string, address: string) => Promise<number | undefined>;
}

/** Time in which an order ends, also on a busy machine. */
const ORDER_TIMEOUT_MS = 120_000;
const HOSTS = { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' };

export interface OrderRow {
  readonly id: string;
  readonly host: string;
  readonly outcome: string | null;
}

export class World {
  readonly parts: WorldParts;

  constructor(parts: WorldParts) {
    this.parts = parts;
  }

  get pebble(): Pebble {
    return this.parts.pebble;
  }

  get front(): AcmeFront {
    return this.parts.front;
  }

  get addresses(): readonly string[] {
    return this.parts.servers.map(({ address }) => address);
  }

  attach(host: string): Promise<{ readonly id: DomainId }> {
    const { system, appId } = this.parts;
    return system.product.verbs.attachDomain({ appId, host, pathPrefix: '/' }, HOSTS);
  }

  /** Adds a host whose name leads to all servers. */
  async attachReachable(host: string): Promise<{ readonly id: DomainId }> {
    await this.pebble.names.setAddresses(host, this.addresses);
    return this.attach(host);
  }

  async certificate(host: string): Promise<CertificateEntry | undefined> {
    const { items } = await this.parts.system.product.verbs.listCertificates({ limit: 100, search: host });
    return items.find((one) => one.host === host);
  }

  waitForCertificate(
    host: string,
    what: string,
    isIt: (certificate: CertificateEntry) => boolean,
    timeoutMs = ORDER_TIMEOUT_MS,
  ): Promise<CertificateEntry> {
    const found = async () => {
      const certificate = await this.certificate(host);
      return certificate !== undefined && isIt(certificate) && certificate;
    };
    return waitFor(found, { what: `${what} of ${host}`, timeoutMs });
  }

  waitForFailure(host: string, code: string): Promise<CertificateEntry> {
    return this.waitForCertificate(host, `the failure ${code}`, ({ failure }) => failure?.code === code);
  }

  /** Waits until a visitor verifies the host at every server. `name` is the visited one, for a wildcard. */
  async waitForHttps(host: string, name = host): Promise<void> {
    await this.waitForCertificate(
      host,
      'a certificate',
      ({ state, failure }) => state === 'issued' && failure === null,
    );
    for (const address of this.addresses) {
      const visited = async () => (await this.parts.visit(name, address)) === 200;
      await waitFor(visited, { what: `HTTPS of ${name} at ${address}`, timeoutMs: 30_000 });
    }
  }

  /** Waits until the check of a host finds this state; demands checks meanwhile. */
  waitForHostState(domainId: DomainId, state: HostState): Promise<HostView> {
    const { system } = this.parts;
    const found = async () => {
      await system.asSystem((ctx) => verifyHost(ctx, { domainId }));
      const view = await system.asSystem((ctx) => getHost(ctx, { domainId }));
      return view?.state === state && view;
    };
    return waitFor(found, { what: `the state ${state}`, timeoutMs: 60_000 });
  }

  /** Enters the public address of a server. */
  async enterAddress(at: number, address: string): Promise<void> {
    const serverId = this.parts.servers[at]?.id;
    if (serverId === undefined) throw new Error(`there is no server ${at}`);
    await this.parts.system.asSystem((ctx) => updateAddresses(ctx, { serverId, addresses: [address] }));
  }

  /** Returns the leaf of a host's certificate in DER. */
  async leaf(host: string): Promise<Buffer> {
    const row = await this.parts.system.asSystem(({ tx }) => tx.certificate.findFirstOrThrow({ where: { host } }));
    return Buffer.from(row.chain[0] ?? []);
  }

  async changeCertificate(host: string, data: Readonly<Record<string, Date | null>>): Promise<void> {
    await this.parts.system.asSystem(({ tx }) => tx.certificate.updateMany({ where: { host }, data }));
  }

  /** Has the authority asked again when it wants the renewal, and ends the pause after the issue. */
  askForRenewal(host: string): Promise<void> {
    return this.changeCertificate(host, { renewalInfoAt: null, nextAttemptAt: null });
  }

  /** Revokes the certificate of a host with its own key. */
  async revoke(host: string): Promise<void> {
    const { system, front } = this.parts;
    const keyDer = await system.asSystem(async ({ tx, organizationId }, keys) => {
      const { key } = await tx.certificate.findFirstOrThrow({
        where: { host },
        include: { key: { include: { dataKey: true } } },
      });
      if (key === null) throw new Error(`${host} has no certificate`);
      return keys.open(organizationId, { versionId: key.id, envelope: key.envelope, dataKey: key.dataKey });
    });
    const key = createPrivateKey({ key: keyDer, type: 'pkcs8', format: 'der' });
    await front.revoke(await this.leaf(host), key);
  }

  /** Lets a host order at once: tests don't wait for its pauses. */
  async endPause(host: string): Promise<void> {
    await this.parts.system.asSystem(({ tx }) =>
      tx.certificate.updateMany({ where: { host }, data: { failedAt: new Date(0), nextAttemptAt: null } }),
    );
  }

  async retry(domainId: DomainId, host: string): Promise<void> {
    await this.parts.system.asSystem(({ tx }) =>
      tx.certificate.updateMany({ where: { host }, data: { failedAt: new Date(0) } }),
    );
    await this.parts.system.product.verbs.retryCertificate({ domainId });
  }

  /** Adds a DNS provider that speaks RFC 2136 with the DNS server. */
  addDnsProvider(zone = ZONE, preferred = false): Promise<void> {
    return this.addDnsProviderWith(this.pebble.names.key.secret, zone, preferred);
  }

  async addDnsProviderWith(secret: string, zone = ZONE, preferred = false): Promise<void> {
    const { address, key } = this.pebble.names;
    await this.parts.system.asSystem((ctx, keys) =>
      createDnsProvider(
        ctx,
        {
          zones: [zone],
          preferred,
          credentials: {
            kind: 'rfc2136',
            server: address,
            keyName: key.name,
            algorithm: 'hmac-sha256',
            secret,
          },
        },
        keys,
      ),
    );
  }

  async removeDnsProviders(): Promise<void> {
    await this.parts.system.asSystem(({ tx, organizationId }) =>
      tx.dnsProvider.deleteMany({ where: { organizationId } }),
    );
  }

  /** Waits until no TXT record is left in the zone and none is known to the product. */
  async waitForNoRecords(): Promise<void> {
    const isEmpty = async () => {
      const known = await this.parts.system.asSystem(({ tx }) => tx.dnsRecord.count());
      return known === 0 && (await this.pebble.names.state()).texts.length === 0;
    };
    await waitFor(isEmpty, { what: 'the end of all TXT records', timeoutMs: 60_000 });
  }

  /** Opens an address that leads to the servers' HTTPS only, in turns, as a firewall with port 80 closed does. */
  async openHttpsOnly(): Promise<{ readonly address: string; close(): Promise<void> }> {
    const { ports, ownAddress } = this.parts;
    const address = ownAddress === '127.0.0.1' ? '127.0.0.2' : ownAddress;
    let turn = 0;
    const sockets = new Set<Socket>();
    const server: Server = createServer((incoming) => {
      const outgoing = connect(ports.https, this.addresses[turn % this.addresses.length] ?? '');
      turn += 1;
      for (const socket of [incoming, outgoing]) {
        sockets.add(socket);
        socket.once('close', () => {
          for (const each of [incoming, outgoing]) each.destroy();
        });
        // An error is followed by the close of both.
        socket.on('error', () => undefined);
      }
      incoming.pipe(outgoing).pipe(incoming);
    });
    await new Promise<void>((resolve) => server.listen(ports.https, address, resolve));
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    return { address, close };
  }

  /** Removes all hosts but one, so that no later scenario meets their renewals. */
  async removeHostsExcept(host: string): Promise<void> {
    const { system, appId } = this.parts;
    await system.asSystem(({ tx }) =>
      tx.domain.deleteMany({ where: { appId, host: { notIn: [host, 'shop.localhost'] } } }),
    );
    const isRest = async () => (await this.orders()).every(({ outcome }) => outcome !== null);
    await waitFor(isRest, { what: 'the end of all orders', timeoutMs: 60_000 });
  }

  orders(): Promise<readonly OrderRow[]> {
    return this.parts.system.asSystem(({ tx }) =>
      tx.acmeOrder.findMany({ select: { id: true, host: true, outcome: true }, orderBy: { orderedAt: 'asc' } }),
    );
  }
}
