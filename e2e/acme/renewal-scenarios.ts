// Scenarios of renewals and of what must not interrupt a service: windows that move, revoked certificates, wrong clocks, and a
// control plane that is away.
import { waitFor } from '../../tools/lib/wait.ts';
import { ZONE } from '../system/harness/pebble.ts';
import { type Scenario, waitForRenewal } from './scenario.ts';
import type { World } from './world.ts';

const HOUR_MS = 3_600_000;

/** Visits a host at every server, and fails unless all answer. */
async function visitAll(world: World, host: string, when: string): Promise<void> {
  for (const address of world.addresses) {
    const status = await world.parts.visit(host, address);
    if (status !== 200) throw new Error(`${when}, ${host} answered ${status} at ${address}`);
  }
}

export const renewalScenarios: readonly Scenario[] = [
  {
    name: 'renewal: the authority is asked again, and a moved window is followed (ARI)',
    refusals: [],
    run: async (world) => {
      const host = `moved.${ZONE}`;
      await world.attachReachable(host);
      await world.waitForHttps(host);
      const startMs = Date.now() + 400_000;
      await world.pebble.setRenewalWindow(await world.leaf(host), new Date(startMs), new Date(startMs + 20_000));
      await world.askForRenewal(host);
      const isMoved = ({ renewAt }: { renewAt: Date | null }) =>
        Math.abs((renewAt?.getTime() ?? 0) - startMs - 10_000) < 1000;
      await world.waitForCertificate(host, 'the moved renewal', isMoved);
    },
  },
  {
    name: 'renewal: a revoked certificate is renewed at once (ARI)',
    refusals: [],
    run: async (world) => {
      const host = `revoked.${ZONE}`;
      await world.attachReachable(host);
      await world.waitForHttps(host);
      await waitForRenewal(world, host, async () => {
        await world.revoke(host);
        await world.askForRenewal(host);
      });
    },
  },
  {
    name: 'clock skew: a certificate that is not valid yet is explained, and not ordered in a loop',
    refusals: ['certificate.clock'],
    run: async (world) => {
      const host = `clock.${ZONE}`;
      world.front.clockAheadMs = 3 * 24 * HOUR_MS;
      await world.attachReachable(host);
      const { nextAttemptAt, failure } = await world.waitForFailure(host, 'certificate.clock');
      world.front.clockAheadMs = null;
      const pauseMs = (nextAttemptAt?.getTime() ?? 0) - Date.now();
      if (pauseMs < 11 * HOUR_MS) throw new Error(`the next order is in ${pauseMs} ms`);
      if (!failure?.message.includes('the clock of the control plane says')) throw new Error(failure?.message);
      await world.endPause(host);
      await world.waitForHttps(host);
    },
  },
  {
    name: 'clock skew: an authority that is ten minutes ahead is no fault',
    refusals: [],
    run: async (world) => {
      const host = `early.${ZONE}`;
      world.front.clockAheadMs = 600_000;
      await world.attachReachable(host);
      const { renewAt, notAfter } = await world.waitForCertificate(
        host,
        'a certificate',
        ({ state }) => state === 'issued',
      );
      world.front.clockAheadMs = null;
      if (!renewAt || !notAfter || renewAt.getTime() <= Date.now() || renewAt >= notAfter)
        throw new Error(`it is renewed at ${renewAt}`);
    },
  },
  {
    name: 'control plane away: the last good certificates serve, also after agents restart',
    refusals: [],
    run: async (world) => {
      const { system, servers } = world.parts;
      await system.controlPlane.stopServices();
      try {
        await visitAll(world, `shop.${ZONE}`, 'without a control plane');
        for (const { agentPid } of servers) {
          const pid = agentPid();
          if (pid === undefined) throw new Error('an agent is not running');
          process.kill(pid, 'SIGKILL');
          const isBack = () => agentPid() !== undefined && agentPid() !== pid;
          await waitFor(() => Promise.resolve(isBack()), { what: 'the next agent', timeoutMs: 60_000 });
        }
        await visitAll(world, `shop.${ZONE}`, 'without a control plane, after restarts of the agents');
      } finally {
        await system.controlPlane.start();
      }
      const areOnline = async () => (await system.servers()).every(({ state }) => state === 'online');
      await waitFor(areOnline, { what: 'all servers online', timeoutMs: 60_000 });
    },
  },
];
