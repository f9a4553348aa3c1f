// Agent of the push check: it builds nothing, and reports builds and rollouts over the real link as a healthy agent does.
// It connects again whenever it loses the gateway.
import { setTimeout as delay } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { type DesiredState, DesiredStateSchema, type SignedState, WorkState } from '@fairlead/contract/agent';
import { buildStatus, builtStatus, rolloutStatus } from '@fairlead/core/testing';
import { createFakeAgent, LinkEnded, type OpenFakeLink } from '@fairlead/testkit';

export interface PushAgentOptions {
  /** `ws://` address of the gateway. */
  readonly url: string;
  readonly serverId: string;
  /** Time that a build takes. */
  readonly buildMs: number;
}

export interface PushAgent {
  readonly publicKey: Uint8Array<ArrayBuffer>;
  start(): void;
  stop(): Promise<void>;
}

const reconnectMs = 100;

export function createPushAgent({ url, serverId, buildMs }: PushAgentOptions): PushAgent {
  const agent = createFakeAgent({ url });
  const builds = new Map<string, 'running' | 'built'>();
  let link: OpenFakeLink | null = null;
  let isStopped = false;
  let running = Promise.resolve();
  let built = Promise.withResolvers<void>();

  async function run(): Promise<void> {
    while (!isStopped) {
      // The gateway may be away.
      link = await agent.connect(serverId).catch(() => null);
      if (link === null) await delay(reconnectMs);
      else await serve(link).catch(ignoreEnd);
    }
  }

  /** Ends with a LinkEnded. */
  async function serve(open: OpenFakeLink): Promise<never> {
    const nextDesired = () => {
      const next = open.next('desired');
      // The end of the link may come while another message is awaited.
      next.catch(ignoreEnd);
      return next;
    };
    let announced = nextDesired();
    for (let reportId = 1n; ; reportId += 1n) {
      open.send({ case: 'sync', value: {} });
      const state = readState(await open.next('state'));
      const { version: applied } = state;
      open.send({
        case: 'report',
        value: { reportId, ...(applied === undefined ? {} : { applied }), ...workOf(state) },
      });
      open.taken('reportAck');
      open.taken('ping');
      const wasAnnounced = await Promise.race([announced.then(() => true), built.promise.then(() => false)]);
      if (wasAnnounced) announced = nextDesired();
    }
  }

  function workOf({ builds: specs, apps }: DesiredState) {
    return {
      builds: specs.map(({ deploymentId, ref }) => {
        if (!builds.has(deploymentId)) void finishLater(deploymentId);
        if (builds.get(deploymentId) === 'running') return buildStatus(deploymentId, WorkState.RUNNING);
        const status = builtStatus(deploymentId);
        if (status.commit !== undefined) status.commit.hash = ref;
        return status;
      }),
      rollouts: apps.flatMap(({ candidate }) =>
        candidate === undefined ? [] : [rolloutStatus(candidate.deploymentId, WorkState.SUCCEEDED)],
      ),
    };
  }

  async function finishLater(deploymentId: string): Promise<void> {
    builds.set(deploymentId, 'running');
    await delay(buildMs);
    builds.set(deploymentId, 'built');
    built.resolve();
    built = Promise.withResolvers();
  }

  return {
    publicKey: agent.publicKey,
    start: () => {
      running = run();
    },
    stop: async () => {
      isStopped = true;
      link?.crash();
      await running;
    },
  };
}

function ignoreEnd(error: unknown): void {
  if (!(error instanceof LinkEnded)) throw error;
}

function readState(signed: SignedState): DesiredState {
  return fromBinary(DesiredStateSchema, signed.state);
}
