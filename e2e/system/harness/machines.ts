// Machines for a test: network namespaces on one switch, each with its own address, names and resolver, that share only
// the network. Needs root. Invariant: never changes a link, namespace or file that it did not create.
import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, run } from '../../../tools/lib/command.ts';
import { type Undo, undoAll } from '../../../tools/lib/undo.ts';

/** Network for documentation (RFC 5737): public to every rule about private networks, and in no real network. */
const SUBNET = '198.51.100';

export interface Machine {
  readonly name: string;
  readonly address: string;
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
  /** Public names by machine. Every machine resolves them. */
  readonly hosts: Readonly<Partial<Record<N, string>>>;
}

export async function openMachines<N extends string>(options: MachinesOptions<N>): Promise<Machines<N>> {
  const { folder, names, hosts } = options;
  const undo: Undo[] = [];
  const id = `flm${randomInt(1, 0xffffff).toString(16)}`;
  const addressOf = (name: N) => `${SUBNET}.${10 + names.indexOf(name)}`;
  const addNamespace = async (name: string) => {
    await must(['ip', 'netns', 'add', name]);
    undo.push(() => must(['ip', 'netns', 'delete', name]));
    return ['nsenter', `--net=/var/run/netns/${name}`];
  };
  try {
    mkdirSync(folder, { recursive: true });
    const [hostsFile, resolvers] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
    const lines = names.flatMap((name) => (hosts[name] === undefined ? [] : [`${addressOf(name)} ${hosts[name]}`]));
    writeFileSync(hostsFile, ['127.0.0.1 localhost', '::1 localhost', ...lines, ''].join('\n'));
    // The switch refuses every question at once: names of the internet do not exist here.
    writeFileSync(resolvers, `nameserver ${SUBNET}.1\n`);
    const script = `mount --bind ${hostsFile} /etc/hosts && mount --bind ${resolvers} /etc/resolv.conf && exec "$@"`;
    const own = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'];

    const inSwitch = await addNamespace(`${id}-switch`);
    await must([...inSwitch, 'ip', 'link', 'add', 'switch', 'type', 'bridge']);
    await must([...inSwitch, 'ip', 'address', 'add', `${SUBNET}.1/24`, 'dev', 'switch']);
    for (const device of ['lo', 'switch']) await must([...inSwitch, 'ip', 'link', 'set', device, 'up']);
    const machines: Partial<Record<N, Machine>> = {};
    for (const name of names) {
      const enter = await addNamespace(`${id}-${name}`);
      const inside = (words: string) => must([...enter, 'ip', ...words.split(' ')]);
      const port = `port${names.indexOf(name)}`;
      await must([...inSwitch, 'ip', 'link', 'add', port, 'type', 'veth', 'peer', 'eth0', 'netns', `${id}-${name}`]);
      await must([...inSwitch, 'ip', 'link', 'set', port, 'master', 'switch', 'up']);
      await inside(`address add ${addressOf(name)}/24 dev eth0`);
      await inside('link set lo up');
      await inside('link set eth0 up');
      await inside(`route add default via ${SUBNET}.1`);
      const prefix = [...enter, ...own];
      const execute = ([program = '', ...args]: readonly string[]) => run(program, args);
      machines[name] = {
        name,
        address: addressOf(name),
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

async function must([program = '', ...args]: readonly string[]): Promise<void> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`);
}
