// Start commands of container engines for tests, on sockets and folders of their own, without systemd and with cgroup
// v1. Invariant: never touches the machine's own engine.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/lib/command.ts';

export interface EngineProgram {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** True if its containers end with it. */
  readonly endsContainers: boolean;
  /** Removes its mounts after it has ended. */
  unmount(): Promise<void>;
}

/**
 * Returns Debian's Docker, or its Podman if FAIRLEAD_TEST_ENGINE says so (`npm run check:podman`). `mirror` serves
 * images of Docker Hub, which is unreachable.
 */
export function engineProgram(folder: string, socket: string, mirror: string | undefined): EngineProgram {
  return process.env.FAIRLEAD_TEST_ENGINE === 'podman'
    ? podman(folder, socket, mirror)
    : docker(folder, socket, mirror);
}

function docker(folder: string, socket: string, mirror: string | undefined): EngineProgram {
  const command = [
    '/usr/sbin/dockerd',
    ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    ...['--host', `unix://${socket}`, '--exec-opt', 'native.cgroupdriver=cgroupfs', '--storage-driver', 'overlay2'],
    ...['--default-ulimit', 'nofile=16384:16384'],
    ...(mirror === undefined ? [] : ['--registry-mirror', `http://${mirror}`]),
  ];
  return { command, environment: {}, endsContainers: true, unmount: async () => undefined };
}

function podman(folder: string, socket: string, mirror: string | undefined): EngineProgram {
  const place = (name: string) => JSON.stringify(join(folder, name));
  const write = (name: string, lines: readonly string[]) => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
    return join(folder, name);
  };
  const engine = write('containers.conf', [
    '[containers]',
    'default_ulimits = ["nofile=16384:16384", "nproc=8192:8192"]',
    '[engine]',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'runtime = "runc"',
    'lock_type = "file"',
    `tmp_dir = ${place('tmp')}`,
    '[network]',
    'network_backend = "netavark"',
    `network_config_dir = ${place('networks')}`,
  ]);
  const storage = write('storage.conf', [
    '[storage]',
    'driver = "overlay"',
    `graphroot = ${place('data')}`,
    `runroot = ${place('run')}`,
  ]);
  // Docker uses a loopback registry without TLS by default; Podman needs this setting.
  const registries = write('registries.conf', [
    ...['[[registry]]', 'location = "127.0.0.1"', 'insecure = true'],
    ...(mirror === undefined
      ? []
      : ['[[registry]]', 'prefix = "docker.io"', `location = "${mirror}"`, 'insecure = true']),
  ]);
  return {
    command: ['/usr/bin/podman', 'system', 'service', '--time=0', `unix://${socket}`],
    environment: {
      CONTAINERS_CONF: engine,
      CONTAINERS_STORAGE_CONF: storage,
      CONTAINERS_REGISTRIES_CONF: registries,
      TMPDIR: folder,
    },
    endsContainers: false,
    async unmount() {
      const { code, output } = await run('umount', [join(folder, 'data/overlay')]);
      if (code !== 0 && !output.includes('not mounted')) throw new Error(`umount: ${output}`);
    },
  };
}
