// Network for servers under test: a bridge, and a network namespace for each server, with one link that can be cut.
// Needs root. Invariant: never changes a link or namespace that it did not create.
import { randomInt } from 'node:crypto';
import { run } from '../../../tools/lib/command.ts';
import { type Undo, undoAll } from '../../../tools/lib/undo.ts';

export interface Namespace {
  readonly address: string;
  /** Command prefix that runs in the namespace. Not `ip netns exec`: that hides the control groups. */
  readonly prefix: readonly string[];
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export interface Network {
  /** Address of the test's side, from which servers reach its services. */
  readonly address: string;
  addNamespace(): Promise<Namespace>;
  close(): Promise<void>;
}

export async function openNetwork(): Promise<Network> {
  const undo: Undo[] = [];
  const id = randomInt(1, 0xffff).toString(16);
  const bridge = `fl${id}`;
  // Address range for network tests (RFC 2544), which collides with no real network.
  const subnet = `198.18.${randomInt(1, 255)}`;
  const address = `${subnet}.1`;
  let count = 0;
  try {
    await ip(['link', 'add', bridge, 'type', 'bridge']);
    undo.push(() => ip(['link', 'delete', bridge]));
    await ip(['address', 'add', `${address}/24`, 'dev', bridge]);
    await ip(['link', 'set', bridge, 'up']);
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
  return {
    address,
    async addNamespace() {
      count++;
      const name = `${bridge}-${count}`;
      const [outer, inner] = [`${bridge}o${count}`, `${bridge}i${count}`];
      const own = `${subnet}.${count + 1}`;
      const prefix = ['nsenter', `--net=/var/run/netns/${name}`];
      const inside = (args: readonly string[]) => must([...prefix, 'ip', ...args]);
      await ip(['netns', 'add', name]);
      // Deleting the namespace deletes both ends of its link.
      undo.push(() => ip(['netns', 'delete', name]));
      await ip(['link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name]);
      await ip(['link', 'set', outer, 'master', bridge, 'up']);
      await inside(['address', 'add', `${own}/24`, 'dev', inner]);
      await inside(['link', 'set', 'lo', 'up']);
      await inside(['link', 'set', inner, 'up']);
      await inside(['route', 'add', 'default', 'via', address]);
      return {
        address: own,
        prefix,
        cut: () => ip(['link', 'set', outer, 'down']),
        mend: () => ip(['link', 'set', outer, 'up']),
      };
    },
    close: () => undoAll(undo),
  };
}

function ip(args: readonly string[]): Promise<void> {
  return must(['ip', ...args]);
}

async function must([program = '', ...args]: readonly string[]): Promise<void> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`);
}
