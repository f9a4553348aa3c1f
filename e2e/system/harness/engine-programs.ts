// How each container engine is started for a test: on a socket and in folders of its own, with what a machine without systemd,
// with control groups of version 1 and without CAP_SYS_RESOURCE lets it do. Must never touch what an engine of the machine has.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/lib/command.ts';

export interface EngineProgram {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Whether its containers end with it. */
  readonly endsContainers: boolean;
  /** After its end: what it keeps mounted. */
  unmount(): Promise<void>;
}

/**
 * Debian's Docker, or its Podman if FAIRLEAD_TEST_ENGINE says so (`npm run check:podman`). `mirror` serves images of Docker's own
 * registry, which is out of reach.
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
  // Docker takes a registry of the machine's own loopback without TLS unasked; here it has to be told.
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
