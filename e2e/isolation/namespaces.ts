// Two network namespaces for the check: the server, and the world around it with the internet, private networks and a
// metadata service. Needs root. Invariant: never changes a link or namespace that it did not create.
import { randomInt } from 'node:crypto';
import { run } from '../../tools/lib/command.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';

/** Addresses of the server itself. */
export const SERVER = { v4: '203.0.113.2', v6: '2001:db8:5::2' } as const;
/** Router of the server, and the address of visitors. */
export const GATEWAY = { v4: '203.0.113.1', v6: '2001:db8:5::1', linkLocal: 'fe80::1' } as const;
/** Hosts behind the router, by their role. */
export const HOSTS = {
  internetV4: '198.51.100.10',
  internetV6: '2001:db8:99::10',
  resolver: '198.51.100.53',
  metadataV4: '169.254.169.254',
  metadataV6: 'fd00:ec2::254',
  metadataAzure: '168.63.129.16',
  metadataAlibaba: '100.100.100.200',
  /** 169.254.169.254 behind a NAT64 (RFC 6052). */
  metadataNat64: '64:ff9b::a9fe:a9fe',
  private10: '10.20.0.5',
  private172: '172.20.0.5',
  private192: '192.168.77.5',
  carrier: '100.64.0.5',
  uniqueLocal: 'fd00:20::5',
  /** 10.20.0.5 by 6to4 (RFC 3056). */
  private6to4: '2002:a14:5::1',
} as const;
/** Name of the server's link and of the world's. */
export const DEVICE = 'wan0';

export interface TestNetwork {
  /** Prefixes of commands that run on the server or outside of it. Not `ip netns exec`: that hides the control groups. */
  readonly onServer: readonly string[];
  readonly outside: readonly string[];
  close(): Promise<void>;
}

export async function openTestNetwork(): Promise<TestNetwork> {
  const undo: Undo[] = [];
  const id = `fliso${randomInt(1, 0xffffff).toString(16)}`;
  const enter = (name: string) => ['nsenter', `--net=/var/run/netns/${id}-${name}`];
  const [onServer, outside] = [enter('server'), enter('world')];
  const inside = (prefix: readonly string[]) => (command: string) => must([...prefix, ...command.split(' ')]);
  const [server, world] = [inside(onServer), inside(outside)];
  try {
    for (const name of ['server', 'world']) {
      await must(['ip', 'netns', 'add', `${id}-${name}`]);
      undo.push(async () => {
        await endAll(`${id}-${name}`);
        await must(['ip', 'netns', 'delete', `${id}-${name}`]);
      });
    }
    await must([...onServer, 'ip', 'link', 'add', DEVICE, 'type', 'veth', 'peer', DEVICE, 'netns', `${id}-world`]);
    for (const [on, address] of [
      [server, SERVER],
      [world, GATEWAY],
    ] as const) {
      await on('ip link set lo up');
      await on(`ip address add ${address.v4}/24 broadcast + dev ${DEVICE}`);
      await on(`ip -6 address add ${address.v6}/64 dev ${DEVICE} nodad`);
      await on(`ip link set ${DEVICE} up`);
    }
    await world(`ip -6 address add ${GATEWAY.linkLocal}/64 dev ${DEVICE} nodad`);
    for (const host of Object.values(HOSTS)) {
      await world(`ip address add ${host}/${host.includes(':') ? '128 nodad' : '32'} dev lo`);
    }
    // The world accepts every packet, so that only the server's protections stop one.
    await world(
      'sysctl -qw net.ipv4.conf.all.accept_source_route=1 net.ipv4.conf.wan0.accept_source_route=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_forward=1',
    );
    // Packets to the networks of instances reach the server, as from a neighbour that guesses their addresses.
    await world(`ip route add 198.18.0.0/15 via ${SERVER.v4}`);
    await world(`ip -6 route add fd66:6c64::/32 via ${SERVER.v6}`);
    await server(`ip route add default via ${GATEWAY.v4}`);
    await server(`ip -6 route add default via ${GATEWAY.v6}`);
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
  return { onServer, outside, close: () => undoAll(undo) };
}

/** Ends the processes left in this check's namespace, for example after a drill that was killed. */
async function endAll(namespace: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'pids', namespace]);
  for (const pid of stdout.split('\n').filter((line) => line !== '')) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // the process ended meanwhile
    }
  }
}

async function must([program = '', ...args]: readonly string[]): Promise<void> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`);
}
