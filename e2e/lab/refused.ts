// Scenarios that a server may be unable to run, each with the probe that decides it. One that fails its probe must be
// refused with a reason, and one that passes must run.
import type { BenchmarkPlan } from '@fairlead/core/benchmark';
import { run } from '../../tools/lib/command.ts';

export interface RefusableScenario {
  readonly scenario: BenchmarkPlan['scenario'];
  /** Part of the failure message of a refused run. */
  readonly reason: string;
  /** Returns true if this machine can run the scenario. */
  readonly probe: () => Promise<boolean>;
}

export const REFUSABLE: readonly RefusableScenario[] = [
  {
    scenario: 'packet-loss',
    reason: "a link between clients and proxies can't be emulated",
    probe: async () => {
      // In a network namespace of its own: the machine's network stays as it is.
      const { code } = await run('unshare', ['--net', 'ip', 'tuntap', 'add', 'dev', 'probe0', 'mode', 'tun']);
      return code === 0;
    },
  },
];
