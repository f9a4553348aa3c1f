// Scenarios that a machine may be unable to run, each with the probe that decides it. A machine that could run one fails the
// check, because Fairlead can't.
import { run } from '../../tools/lib/command.ts';

export interface RefusedScenario {
  readonly name: string;
  readonly reason: string;
  /** Returns true if this machine could run the scenario. */
  readonly probe: () => Promise<boolean>;
}

export const REFUSABLE: readonly RefusedScenario[] = [
  {
    name: 'packet loss and delay',
    reason: 'the kernel has no netem queueing discipline, and Fairlead has no link emulator of its own',
    probe: async () => {
      // In a network namespace of its own: the machine's network stays as it is.
      const add = 'ip link set lo up && tc qdisc add dev lo root netem loss 1%';
      const { code } = await run('unshare', ['--net', 'sh', '-c', add]);
      return code === 0;
    },
  },
];
