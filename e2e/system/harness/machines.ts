// Machines for a test: network namespaces on one switch, each with its own addresses, that share only the network and its
// DNS server. Needs root. Invariant: never changes a link, namespace or file that it did not create.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, ROOT, run } from '../../../tools/lib/command.ts';
import { nodeOf } from '../../../tools/lib/install.mjs';
import { type Undo, undoAll } from '../../../tools/lib/undo.ts';

/** Network for documentation (RFC 5737): public to every rule about private networks, and in no real network. */
const SUBNET = '198.51.100';
/** The same for IPv6 (RFC 3849). */
const SUBNET6 = '2001:db8:17';

export interface Machine {
  readonly name: string;
  readonly address: string;
  /** IPv6 address. */
  readonly address6: string;
  /** File of its network namespace. */
  readonly namespace: string;
  /** Command prefix that runs on the machine. Not `ip netns exec`: that hides the control groups. */
  readonly prefix: readonly string[];
  /** Runs a command on the machine; a failure is in the result. */
  run(command: readonly string[]): Promise<CommandResult>;
}

export interface Machines<N extends string> {
  readonly machines: Readonly<Record<N, Machine>>;
  close(): Promise<void>;
}

export interface MachinesOptions<N extends string> {
  readonly folder: string;
  readonly names: readonly N[];
  /** Public names by machine, which the DNS server of the network knows with their IPv4 addresses. */
  readonly hosts: Readonly<Partial<Record<N, string>>>;
}

export async function openMachines<N extends string>(options: MachinesOptions<N>): Promise<Machines<N>> {
  const { folder, names, hosts } = options;
  const undo: Undo[] = [];
  const id = `flm${randomInt(1, 0xffffff).toString(16)}`;
  const numberOf = (name: N) => 10 + names.indexOf(name);
  const addressOf = (name: N) => `${SUBNET}.${numberOf(name)}`;
  const addNamespace = async (name: string) => {
    await must(['ip', 'netns', 'add', name]);
    undo.push(() => must(['ip', 'netns', 'delete', name]));
    return ['nsenter', `--net=/var/run/netns/${name}`];
  };
  try {
    mkdirSync(folder, { recursive: true });
    const [hostsFile, resolvers] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
    writeFileSync(hostsFile, '127.0.0.1 localhost\n::1 localhost\n');
    writeFileSync(resolvers, `nameserver ${SUBNET}.1\n`);
    const script = `mount --bind ${hostsFile} /etc/hosts && mount --bind ${resolvers} /etc/resolv.conf && exec "$@"`;
    const own = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'];

    const inSwitch = await addNamespace(`${id}-switch`);
    await must([...inSwitch, 'ip', 'link', 'add', 'switch', 'type', 'bridge']);
    await must([...inSwitch, 'ip', 'address', 'add', `${SUBNET}.1/24`, 'dev', 'switch']);
    await must([...inSwitch, 'ip', 'address', 'add', `${SUBNET6}::1/64`, 'dev', 'switch', 'nodad']);
    for (const device of ['lo', 'switch']) await must([...inSwitch, 'ip', 'link', 'set', device, 'up']);
    undo.push(
      await serveNames(
        inSwitch,
        names.flatMap((name) => (hosts[name] === undefined ? [] : [`${hosts[name]}=${addressOf(name)}`])),
      ),
    );
    const machines: Partial<Record<N, Machine>> = {};
    for (const name of names) {
      const enter = await addNamespace(`${id}-${name}`);
      const inside = (words: string) => must([...enter, 'ip', ...words.split(' ')]);
      const port = `port${names.indexOf(name)}`;
      await must([...inSwitch, 'ip', 'link', 'add', port, 'type', 'veth', 'peer', 'eth0', 'netns', `${id}-${name}`]);
      await must([...inSwitch, 'ip', 'link', 'set', port, 'master', 'switch', 'up']);
      await inside(`address add ${addressOf(name)}/24 dev eth0`);
      await inside(`address add ${SUBNET6}::${numberOf(name)}/64 dev eth0 nodad`);
      await inside('link set lo up');
      await inside('link set eth0 up');
      await inside(`route add default via ${SUBNET}.1`);
      const prefix = [...enter, ...own];
      const execute = ([program = '', ...args]: readonly string[]) => run(program, args);
      machines[name] = {
        name,
        address: addressOf(name),
        address6: `${SUBNET6}::${numberOf(name)}`,
        namespace: `/var/run/netns/${id}-${name}`,
        prefix,
        run: (command) => execute([...prefix, ...command]),
      };
    }
    return { machines: machines as Record<N, Machine>, close: () => undoAll(undo) };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}

/** Starts the network's DNS server; returns how to end it. */
async function serveNames(inSwitch: readonly string[], entries: readonly string[]): Promise<Undo> {
  const [program = '', ...args] = [...inSwitch, nodeOf(ROOT), join(import.meta.dirname, 'dns-server.ts')];
  const server = spawn(program, [...args, `${SUBNET}.1`, ...entries], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(server, 'exit');
  await Promise.race([once(server.stdout, 'data'), exited]);
  if (server.exitCode !== null) throw new Error(`the DNS server ended with ${server.exitCode}`);
  return async () => {
    server.kill();
    await exited;
  };
}

async function must([program = '', ...args]: readonly string[]): Promise<void> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`);
}
