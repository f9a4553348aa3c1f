// The open part of an agent's connection: what it asks for, reports and pushes, each in a lane of its own so that a slow
// store of metrics never holds up a desired state. Exists only once the agent has proved who it is.
import type { Push, Report } from '@fairlead/contract/agent';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { LiveHub } from '../live/hub.ts';
import { frameEvents, logEvent } from '../live/samples.ts';
import { createPushLane } from '../push/push-lane.ts';
import type { ConnectedServer, Control } from './control.ts';
import { createLatestLane } from './latest-lane.ts';
import type { SessionAction } from './machine.ts';

// Frames from a spool are history: watchers want now, charts read the rest from the store.
const liveAgeMaxMs = 30_000;
// Smaller differences are the network's; following them would make seconds collide.
const offsetStepMs = 500;
const offsetWarnMs = 2_000;

export interface OpenSessionOptions {
  readonly server: ConnectedServer;
  readonly clockOffsetMs: number;
  readonly pushAckedSequence: bigint;
  readonly control: Control;
  readonly hub: LiveHub;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (body: Extract<SessionAction, { type: 'send' }>['body']) => void;
  readonly fail: (error: unknown) => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface OpenSession {
  readonly server: ConnectedServer;
  sync(): void;
  report(report: Report): void;
  /** `bytes`: the memory that it takes. */
  push(push: Push, bytes: number): void;
  measure(offsetMs: number): void;
  /** Gives the server up; resolves when nothing is being stored any more. */
  stop(): Promise<void>;
}

export function createOpenSession(options: OpenSessionOptions): OpenSession {
  const { server, control, hub, clock, log, send, fail } = options;
  let clockOffsetMs = options.clockOffsetMs;
  let lastSequence = options.pushAckedSequence;
  // Lines that watchers have seen and the store has not; given up when the session ends.
  const unstored = new Map<bigint, () => void>();

  const syncs = createLatestLane<null>(async () => {
    send({ case: 'state', value: await control.signedState(server) });
  }, fail);
  const reports = createLatestLane<Report>(async (report) => {
    await control.recordReport(server, report);
    send({ case: 'reportAck', value: { reportId: report.reportId } });
  }, fail);
  const touches = createLatestLane<number>((offsetMs) => control.touch(server, offsetMs), fail);
  const pushes = createPushLane({
    store: (batch) => control.recordPushes(server, batch, clockOffsetMs),
    acknowledge: (sequence) => {
      release((held) => held <= sequence);
      send({ case: 'pushAck', value: { sequence } });
    },
    fail,
    pause: options.pause,
    resume: options.resume,
  });

  function release(which: (sequence: bigint) => boolean): void {
    for (const [sequence, forget] of unstored) {
      if (!which(sequence)) continue;
      forget();
      unstored.delete(sequence);
    }
  }

  function publish(push: Push): void {
    if (push.body.case === 'frame') {
      const ageMs = clock.now().getTime() - (Number(push.body.value.agentUnixMs) - clockOffsetMs);
      if (Math.abs(ageMs) > liveAgeMaxMs) return;
      for (const event of frameEvents(server.serverId, push.body.value, clockOffsetMs)) {
        hub.publish(server.organizationId, event);
      }
    } else if (push.body.case === 'log') {
      const event = logEvent(push.body.value, clockOffsetMs);
      if (event !== null) unstored.set(push.sequence, hub.publishUnstored(server.organizationId, event));
    }
  }

  return {
    server,
    sync: () => syncs.offer(null),
    report: (report) => reports.offer(report),
    push: (push, bytes) => {
      // Sent again after a reconnect, or twice: watchers have seen it, the store drops it by its sequence.
      if (push.sequence > lastSequence) {
        lastSequence = push.sequence;
        publish(push);
      }
      pushes.add(push, bytes);
    },
    measure: (offsetMs) => {
      if (Math.abs(offsetMs - clockOffsetMs) > offsetStepMs) {
        clockOffsetMs = offsetMs;
        const fields = { serverId: server.serverId, clockOffsetMs };
        if (Math.abs(offsetMs) > offsetWarnMs) log.warn(fields, "a server's clock is off; its samples are corrected");
      }
      touches.offer(clockOffsetMs);
    },
    stop: async () => {
      await Promise.all([syncs.stop(), reports.stop(), touches.stop(), pushes.stop()]);
      release(() => true);
      await control.close(server);
    },
  };
}
