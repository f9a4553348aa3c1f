// `npm run check:certificates`: every scenario of certificates against a real authority, with a DNS server of our own, on two
// servers in network namespaces and a visitor in another who trusts only the authority's root. `-- revoked …` selects
// scenarios by a part of their name; the first one always runs. Needs root.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../tools/lib/command.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { startAcmeFront } from '../system/harness/acme-front.ts';
import { PROCESS_ID_APP } from '../system/harness/apps.ts';
import { openFleet } from '../system/harness/fleet.ts';
import { openNetwork } from '../system/harness/network.ts';
import { type PebbleOptions, startPebble, ZONE } from '../system/harness/pebble.ts';
import { System } from '../system/harness/system.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { World } from './world.ts';

/** Lifetime of certificates: a renewal is due within minutes. */
const LIFETIME_SECONDS = 600;
const BINDING = { keyId: 'fairlead', hmacKey: Buffer.alloc(32, 7).toString('base64url') };

/** Host of the first scenario, which later ones visit. */
const KEPT = `shop.${ZONE}`;

interface Count {
  orders: number;
  issued: number;
  refused: number;
  unexplained: number;
}

/** Opens a world with an app on two servers. */
async function openWorld(undo: Undo[], pebbleOptions: Partial<PebbleOptions>, settings: object): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-acme-'));
  undo.push(async () => rmSync(folder, { recursive: true }));
  const network = await openNetwork();
  undo.push(() => network.close());
  // Each server has its own network, so they can have the ports that host checks ask.
  const ports = { http: 80, https: 443 };
  const { address } = network;
  const pebble = await startPebble({
    folder,
    httpPort: ports.http,
    httpsPort: ports.https,
    address,
    lifetimeSeconds: LIFETIME_SECONDS,
    // The front rejects nonces in its scenario; both together could use up all attempts of a request.
    nonceRejectPercent: 0,
    ...pebbleOptions,
  });
  undo.push(() => pebble.stop());
  const front = await startAcmeFront(pebble, { address, folder });
  undo.push(() => front.close());
  const system = await System.start({
    settings: {
      FAIRLEAD_ACME_DIRECTORY_URL: front.directoryUrl,
      FAIRLEAD_ACME_CA_FILE: pebble.caFile,
      FAIRLEAD_DNS_RESOLVERS: pebble.names.address,
      FAIRLEAD_OUTBOUND_ALLOW: address.replace(/\.\d+$/, '.0/24'),
      ...settings,
    },
  });
  undo.push(() => system.stop());
  const fleet = await openFleet(system, network);
  undo.push(() => fleet.close());
  const [east, west] = [
    await fleet.addServer('east', undefined, { ports }),
    await fleet.addServer('west', undefined, { ports }),
  ];
  const visitor = await network.addNamespace();
  const repository = await system.repositories.create('shop', PROCESS_ID_APP);
  const source = { url: fleet.repositoryUrl(repository.url) };
  const first = await system.createApp('shop', source, '', east.id);
  if (first.state !== 'live') throw new Error(`the app is ${first.state}: ${first.failureMessage}`);
  const { id: appId } = await system.app('shop');
  await system.product.verbs.attachServer({ appId, serverId: west.id });
  const second = await system.deploy(appId);
  if (second.state !== 'live') throw new Error(`the app is ${second.state}: ${second.failureMessage}`);
  const world = new World({
    system,
    pebble,
    front,
    ports,
    servers: [east, west].map(({ id, name, namespace }) => ({
      id,
      address: namespace.address,
      agentPid: () => system.servicePid(name),
    })),
    ownAddress: address,
    appId,
    visit: async (host, server) => {
      const at = `${host}:${ports.https}`;
      const [program = '', ...prefix] = visitor.prefix;
      const request = ['curl', '--silent', '--max-time', '5', '--output', '/dev/null', '--write-out', '%{http_code}'];
      const trust = ['--cacert', pebble.rootFile, '--resolve', `${at}:${server}`, `https://${at}/`];
      const { code, stdout } = await run(program, [...prefix, ...request, ...trust]);
      return code === 0 ? Number(stdout) : undefined;
    },
  });
  for (const [at, server] of world.addresses.entries()) await world.enterAddress(at, server);
  return world;
}

/** Runs scenarios one after another, and counts the orders of each by their outcome. */
async function runScenarios(world: World, chosen: readonly Scenario[], count: Count): Promise<void> {
  const counted = new Set<string>();
  for (const { name, refusals, run: play } of chosen) {
    const startedAt = performance.now();
    const problems: string[] = [];
    await play(world).catch((error: unknown) => problems.push(error instanceof Error ? error.message : String(error)));
    await world.removeHostsExcept(KEPT).catch((error: unknown) => problems.push(String(error)));
    for (const { id, host, outcome } of (await world.orders()).filter(({ id: one }) => !counted.has(one))) {
      counted.add(id);
      count.orders += 1;
      if (outcome === 'issued') count.issued += 1;
      else if (outcome !== null && refusals.includes(outcome)) count.refused += 1;
      else problems.push(`the order of ${host} ended with ${outcome ?? 'nothing'}`);
    }
    count.unexplained += problems.length;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name}, ${seconds} s`);
    for (const problem of problems) console.log(`       ${problem}`);
  }
}

async function withWorld(
  pebbleOptions: Partial<PebbleOptions>,
  settings: object,
  work: (world: World) => Promise<void>,
): Promise<void> {
  const undo: Undo[] = [];
  try {
    await work(await openWorld(undo, pebbleOptions, settings));
  } finally {
    await undoAll(undo);
  }
}

const bound: Scenario = {
  name: 'external account binding: the account is registered with its key, and orders like any other',
  refusals: [],
  run: async (world) => {
    await world.attachReachable(`bound.${ZONE}`);
    await world.waitForHttps(`bound.${ZONE}`);
  },
};
const unbound: Scenario = {
  name: 'external account binding: a wrong key is refused before any order, with the reason',
  refusals: [],
  run: async (world) => {
    await world.attachReachable(`unbound.${ZONE}`);
    const { failure } = await world.waitForFailure(`unbound.${ZONE}`, 'certificate.account');
    if (failure?.message.includes(BINDING.hmacKey) === true) throw new Error('the failure shows the key');
    if ((await world.orders()).length > 0) throw new Error('it was ordered');
  },
};

const { positionals } = parseArgs({ allowPositionals: true });
const isChosen = ({ name }: Scenario) => positionals.length === 0 || positionals.some((part) => name.includes(part));
const count: Count = { orders: 0, issued: 0, refused: 0, unexplained: 0 };
await withWorld({}, {}, (world) =>
  runScenarios(
    world,
    scenarios.filter((scenario, index) => index === 0 || isChosen(scenario)),
    count,
  ),
);
const eab = { FAIRLEAD_ACME_EAB_KEY_ID: BINDING.keyId };
if (isChosen(bound)) {
  const settings = { ...eab, FAIRLEAD_ACME_EAB_HMAC_KEY: BINDING.hmacKey };
  await withWorld({ binding: BINDING }, settings, (world) => runScenarios(world, [bound], count));
}
if (isChosen(unbound)) {
  const settings = { ...eab, FAIRLEAD_ACME_EAB_HMAC_KEY: Buffer.alloc(32, 8).toString('base64url') };
  await withWorld({ binding: BINDING }, settings, (world) => runScenarios(world, [unbound], count));
}
const { orders, issued, refused, unexplained } = count;
console.log(`orders ${orders}, issued ${issued}, refused as expected ${refused}, unexplained ${unexplained}`);
process.exitCode = orders > 0 && orders === issued + refused && unexplained === 0 ? 0 : 1;
