// Placeholders (words in braces) in an attack's arguments: the address of its target, and of the target's plain copy,
// which the positive control attacks.
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import type { System } from '../system/harness/system.ts';
import { PORTS } from './attack.ts';
import type { Fixtures } from './fixtures.ts';
import { DEVICE, SERVER } from './namespaces.ts';
import type { ServerUnderAttack } from './server-drill.ts';

export type Places = Readonly<Record<string, string | number>>;

interface Link {
  readonly ifname: string;
  readonly ifindex: number;
  readonly link_index?: number;
  readonly addr_info: readonly { readonly family: string; readonly local: string; readonly scope: string }[];
}

/** Returns the process and the port of an app's only instance. */
export async function instanceOf(system: System, slug: string) {
  const [instance] = (await system.app(slug)).instances;
  if (instance?.pid == null) throw new Error(`${slug} has no instance`);
  return { id: instance.id, pid: instance.pid, port: instance.port ?? 0 };
}

/** Returns the placeholders for attacks and for controls. */
export async function findPlaces(
  system: System,
  fixtures: Pick<Fixtures, 'abstract' | 'engineSocket'>,
  server: ServerUnderAttack,
): Promise<{ readonly real: Places; readonly control: Places }> {
  const instances = ['hostile', 'victim', 'wide', 'socketed'].map((name) => instanceOf(system, server.slug(name)));
  const [hostile, victim, wide, socketed] = await Promise.all(instances);
  if (hostile === undefined || victim === undefined || wide === undefined || socketed === undefined)
    throw new Error('an app is missing');
  const { gateway, web, database } = system.ports;
  const shared: Places = {
    gateway,
    web,
    database,
    https: server.httpsPort,
    metrics: server.metricsPort,
    abstract: fixtures.abstract,
    engineSocket: fixtures.engineSocket,
    victimHost: `${server.slug('victim')}.localhost`,
    // This process is in the server's network, as its agent is.
    agentPid: process.pid,
    victimPid: victim.pid,
    proxySocket: join(server.folder, 'run/proxy.sock'),
    proxySocketKind: 'stream',
    controlSocket: join(server.folder, 'control/gateway.sock'),
    appSocket: environmentOf(socketed.pid).FAIRLEAD_SOCKET ?? '',
    handOver: join(server.folder, 'instances', victim.id, 'net/s'),
  };
  const [own, ofWide] = await Promise.all([linkOf(hostile.pid), linkOf(wide.pid)]);
  return {
    real: {
      ...shared,
      victimPort: victim.port,
      widePort: wide.port,
      wideV4: addressOf(ofWide, 'inet') ?? SERVER.v4,
      wideV6: addressOf(ofWide, 'inet6') ?? SERVER.v6,
      buildPort: server.buildPort,
      leftoverPort: server.leftoverPort,
      device: own?.ifname ?? DEVICE,
      linkLocal: await linkLocalOf(own),
    },
    control: {
      ...shared,
      victimPort: PORTS.plainVictim,
      widePort: PORTS.plainWide,
      wideV4: SERVER.v4,
      wideV6: SERVER.v6,
      buildPort: PORTS.plainBuild,
      leftoverPort: PORTS.plainBuild,
      device: DEVICE,
      linkLocal: await linkLocalOf(undefined),
    },
  };
}

/** Returns the link of a process's network; undefined if it shares the server's. */
async function linkOf(pid: number): Promise<Link | undefined> {
  if (readlinkSync(`/proc/${pid}/ns/net`) === readlinkSync('/proc/self/ns/net')) return undefined;
  const links = await linksOf(['nsenter', '--target', String(pid), '--net']);
  return links.find(({ ifname }) => ifname !== 'lo');
}

async function linksOf(prefix: readonly string[]): Promise<readonly Link[]> {
  const [program = '', ...args] = [...prefix, 'ip', '-json', 'address'];
  const { code, stdout, output } = await run(program, args);
  if (code !== 0) throw new Error(`ip address: ${output}`);
  return JSON.parse(stdout) as readonly Link[];
}

function addressOf(link: Link | undefined, family: string): string | undefined {
  return link?.addr_info.find((one) => one.family === family && one.scope === 'global')?.local;
}

/**
 * Returns the link-local address of the server's end of this link, or of its own link to the world, with the interface
 * to reach it.
 */
async function linkLocalOf(link: Link | undefined): Promise<string> {
  const end = (await linksOf([])).find((one) =>
    link === undefined ? one.ifname === DEVICE : one.ifindex === link.link_index,
  );
  const address = end?.addr_info.find(({ scope }) => scope === 'link')?.local;
  return `${address ?? 'fe80::2'}%${link?.ifname ?? DEVICE}`;
}

function environmentOf(pid: number): Readonly<Record<string, string>> {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** Replaces the placeholders; a value that is one placeholder keeps its type. */
export function fill(args: Readonly<Record<string, unknown>>, places: Places): Readonly<Record<string, unknown>> {
  const place = (name: string) => {
    const found = places[name];
    if (found === undefined || found === '') throw new Error(`there is no ${name} here`);
    return found;
  };
  const filled = (value: unknown) => {
    if (typeof value !== 'string') return value;
    const whole = /^\{(\w+)\}$/.exec(value)?.[1];
    return whole === undefined ? value.replace(/\{(\w+)\}/g, (_, name: string) => String(place(name))) : place(whole);
  };
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, filled(value)]));
}
