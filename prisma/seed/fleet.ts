// Static parts of a scenario: people, servers, apps and their placements. Makes rows; loads none.
import { capabilities } from '@fairlead/contract/capabilities';
import { newId } from '@fairlead/contract/ids';
import type { CopyRow } from '@fairlead/db/copy';
import type { Random } from './random.ts';
import { slugOf } from './words.ts';

export interface Home {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
}

export interface Person {
  readonly userId: string;
  readonly name: string;
}

export interface Machine {
  readonly serverId: string;
  readonly name: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** Lowest share of the disk in use; up to 0.04 more between cleanups. */
  readonly diskUsedShare: number;
}

export interface SeedApp extends Home {
  readonly appId: string;
  readonly placementId: string;
  readonly serverId: string;
  readonly name: string;
  readonly slug: string;
  readonly branch: string;
  readonly hosts: readonly string[];
  readonly createdAt: Date;
}

const gibibyte = 1024 ** 3;

export function makePerson(name: string, domain: string): { readonly person: Person; readonly row: CopyRow } {
  const person = { userId: newId('usr'), name };
  const email = `${slugOf(name).replaceAll('-', '.')}@${domain}`;
  const now = new Date();
  return {
    person,
    row: { id: person.userId, name, email, email_verified: true, image: null, created_at: now, updated_at: now },
  };
}

export function memberRow(organizationId: string, userId: string, role: string): CopyRow {
  return { id: newId('mem'), organization_id: organizationId, user_id: userId, role };
}

export interface MachineWish {
  readonly name: string;
  readonly domain: string;
  readonly organizationId: string;
  /** Without one the server counts as offline since yesterday. */
  readonly isOnline: boolean;
  /** Its disk runs out, and it has no seccomp: what a server's page warns of. */
  readonly isTroubled?: boolean;
  readonly now: Date;
}

const dayMs = 24 * 60 * 60 * 1000;

export function makeMachine(random: Random, wish: MachineWish): { readonly machine: Machine; readonly row: CopyRow } {
  const cpuCount = random.pick([2, 4, 4, 8, 16]);
  const machine: Machine = {
    serverId: newId('srv'),
    name: wish.name,
    cpuCount,
    memoryBytes: cpuCount * random.pick([2, 4]) * gibibyte,
    diskBytes: random.pick([80, 160, 320]) * gibibyte,
    diskUsedShare: wish.isTroubled === true ? 0.92 : random.between(0.15, 0.6),
  };
  const host = {
    hostname: `${wish.name}.${wish.domain}`,
    os: random.pick(['Debian GNU/Linux 12', 'Debian GNU/Linux 12', 'Ubuntu 24.04.3 LTS']),
    kernel: random.pick(['6.1.0-40-amd64', '6.8.0-71-generic']),
    arch: random.pick(['x86_64', 'x86_64', 'x86_64', 'aarch64']),
    cpuCount,
    memoryBytes: machine.memoryBytes,
    diskBytes: machine.diskBytes,
    isolationOff: wish.isTroubled === true ? [noSeccomp] : [],
  };
  const applied = random.int(20, 900);
  const createdAt = new Date(wish.now.getTime() - random.int(120, 400) * dayMs);
  // A seeded server has no agent, so its last heartbeat is in the future: for a day it counts as connected.
  const lastSeenAt = new Date(wish.now.getTime() + (wish.isOnline ? dayMs : -dayMs));
  const row: CopyRow = {
    id: machine.serverId,
    organization_id: wish.organizationId,
    name: machine.name,
    public_key: crypto.getRandomValues(new Uint8Array(32)),
    desired_number: applied,
    applied_epoch: 1,
    applied_number: applied,
    agent_version: '0.1.0',
    capabilities: [...reported],
    host_info: JSON.stringify(host),
    disk: JSON.stringify(makeDisk(random, machine, wish)),
    network: JSON.stringify(makeNetwork(wish)),
    connected_gateway: wish.isOnline ? 'seed' : null,
    connected_at: wish.isOnline ? new Date(wish.now.getTime() - random.int(1, 40) * dayMs) : null,
    last_seen_at: lastSeenAt,
    clock_offset_ms: random.int(-40, 40),
    created_at: createdAt,
  };
  return { machine, row };
}

const noSeccomp = 'Apps can make every system call, because this kernel has no seccomp filters.';

/** Capabilities of an agent of this version on a server without a container engine. */
const reported: readonly string[] = Object.keys(capabilities).filter((name) => name !== 'container');

function makeNetwork({ isTroubled, now }: MachineWish): object {
  const text = 'Another program changed the firewall of apps. It was put back.';
  return { warnings: [], repair: isTroubled === true ? { text, unixMs: now.getTime() - 3 * 3_600_000 } : null };
}

function makeDisk(random: Random, machine: Machine, { isTroubled, now }: MachineWish): object {
  const { diskBytes, diskUsedShare, name } = machine;
  const freeBytes = Math.round(diskBytes * (0.96 - diskUsedShare));
  return {
    freeBytes,
    totalBytes: diskBytes,
    artifactsBytes: random.int(1, 6) * gibibyte,
    cachesBytes: random.int(1, 8) * gibibyte,
    imagesBytes: 0,
    logsBytes: random.int(100, 900) * 1024 ** 2,
    volumesBytes: random.int(1, 9) * gibibyte,
    fullUnixMs: isTroubled === true ? now.getTime() + 2 * dayMs : 0,
    warning:
      isTroubled === true
        ? `The disk of ${name} has ${Math.round(freeBytes / gibibyte)} GiB left and is full in two days at this pace. Delete what is not needed, or give it a larger one.`
        : '',
  };
}

export interface AppWish {
  readonly name: string;
  readonly home: Home;
  readonly serverId: string;
  readonly branch: string;
  readonly domain: string;
  readonly createdAt: Date;
}

export function makeApp(wish: AppWish): SeedApp {
  const slug = slugOf(wish.name);
  return {
    ...wish.home,
    appId: newId('app'),
    placementId: newId('plc'),
    serverId: wish.serverId,
    name: wish.name,
    slug,
    branch: wish.branch,
    hosts: [`${slug}.${wish.domain}`],
    createdAt: wish.createdAt,
  };
}

export function appRow(app: SeedApp, owner: string): CopyRow {
  return {
    id: app.appId,
    organization_id: app.organizationId,
    project_id: app.projectId,
    name: app.name,
    slug: app.slug,
    repository_url: `https://git.example.test/${owner}/${app.slug}.git`,
    command: [],
    health_path: '/healthz',
    created_at: app.createdAt,
    updated_at: app.createdAt,
  };
}

export function domainRows(app: SeedApp): CopyRow[] {
  return app.hosts.map((host) => ({
    id: newId('dom'),
    organization_id: app.organizationId,
    app_id: app.appId,
    environment_id: app.environmentId,
    host,
    created_at: app.createdAt,
  }));
}

export function placementRow(app: SeedApp): CopyRow {
  return {
    id: app.placementId,
    organization_id: app.organizationId,
    app_id: app.appId,
    environment_id: app.environmentId,
    branch: app.branch,
    is_primary: true,
    created_at: app.createdAt,
  };
}

export function placementServerRow(app: SeedApp, liveReleaseId: string | null): CopyRow {
  return {
    placement_id: app.placementId,
    organization_id: app.organizationId,
    server_id: app.serverId,
    position: 0,
    live_release_id: liveReleaseId,
    created_at: app.createdAt,
  };
}

export interface LiveRelease {
  readonly releaseId: string;
  readonly since: Date;
}

export function instanceRow(random: Random, app: SeedApp, live: LiveRelease, now: Date): CopyRow {
  return {
    id: newId('ins'),
    organization_id: app.organizationId,
    app_id: app.appId,
    environment_id: app.environmentId,
    server_id: app.serverId,
    release_id: live.releaseId,
    state: 'healthy',
    pid: random.int(1_000, 60_000),
    port: random.int(20_000, 29_999),
    restarts: random.chance(0.05) ? random.int(1, 3) : 0,
    cpu_millis: random.int(5, 400),
    memory_bytes: random.int(40, 400) * 1024 ** 2,
    started_at: live.since,
    reported_at: now,
  };
}
