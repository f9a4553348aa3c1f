// Attack drill: starts a whole Fairlead with an agent for each mode, and runs the drill of each server. Runs in the
// server's network namespace, never in the machine's own.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { startEngine, startRegistry } from '../system/harness/engine.ts';
import { System } from '../system/harness/system.ts';
import { type Mode, PORTS } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { Fixtures } from './fixtures.ts';
import {
  type DrillMode,
  type ModeResult,
  ServerDrill,
  type ServerUnderAttack,
  usesContainers,
} from './server-drill.ts';

export async function drillIsolation(
  modes: readonly DrillMode[],
  outside: readonly string[],
  note: (line: string) => void,
): Promise<Partial<Record<Mode, ModeResult>>> {
  const [first, ...others] = modes.map(planServer);
  if (first === undefined) throw new Error('no mode was named');
  const undo: Undo[] = [];
  try {
    const fixtures = await Fixtures.open(outside);
    undo.push(() => fixtures.close());
    const agentEnvironment = first.attacks.some(usesContainers) ? await openEngine(undo) : {};
    const system = await System.start({ address: '[::]', agentArgs: argsOf(first), agentEnvironment });
    undo.push(() => system.stop());
    // The drill needs no dashboard: a listener on its port is enough.
    await fixtures.serveOnLoopback('web', system.ports.web);
    const { agentFolder: folder } = system;
    const local = { ...first, id: await system.serverId(), folder, httpsPort: system.ports.https };
    const servers = [local, ...(await Promise.all(others.map((plan) => enrol(system, plan, undo))))];
    const drills = servers.map(
      (server) => new ServerDrill(system, fixtures, server, (line) => note(`${server.mode}: ${line}`)),
    );
    note('the servers are online');
    await Promise.all(drills.map((drill) => drill.deploy()));
    await Promise.all(drills.map((drill) => drill.attack()));
    await Promise.all(drills.map((drill) => drill.control()));
    // Runs alone, because it counts connections that others would open too.
    for (const drill of drills) await drill.flood();
    return Object.fromEntries(drills.map((drill) => [drill.mode, drill.result()]));
  } finally {
    await undoAll(undo);
  }
}

/** Starts a container engine in this network with the base image of the check's containers. */
async function openEngine(undo: Undo[]): Promise<Readonly<Record<string, string>>> {
  const mirror = await startRegistry([], { username: '', password: '' });
  undo.push(() => mirror.close());
  const engine = await startEngine([], mirror);
  undo.push(() => engine.close());
  await engine.importBase(mirror);
  return engine.environment;
}

type Plan = Omit<ServerUnderAttack, 'id' | 'folder' | 'httpsPort'>;

function planServer(mode: DrillMode, at: number): Plan {
  return {
    ...mode,
    metricsPort: PORTS.metrics + at,
    buildPort: PORTS.build + 10 * at,
    leftoverPort: PORTS.build + 10 * at + 1,
    ownPorts: PORTS.own + ATTACKS.length * at,
    slug: (name) => `${name}-${mode.mode}`,
  };
}

function argsOf({ metricsPort, args }: Plan): readonly string[] {
  return ['--metrics', `127.0.0.1:${metricsPort}`, ...args];
}

async function enrol(system: System, plan: Plan, undo: Undo[]): Promise<ServerUnderAttack> {
  const folder = join(system.dataFolder, plan.mode);
  mkdirSync(folder, { mode: 0o711 });
  const ports = { https: await freePort(), http: await freePort() };
  const stop = await system.addAgent({ name: plan.mode, folder, ports, address: '[::]', args: argsOf(plan) });
  undo.push(stop);
  const found = (await system.servers()).find(({ name }) => name === plan.mode);
  if (found === undefined) throw new Error(`the server ${plan.mode} did not enrol`);
  return { ...plan, id: found.id, folder, httpsPort: ports.https };
}
