// Open phase of an agent's connection: requests, reports and pushes, each in a queue of its own so that slow metric
// storage never delays a desired state. Exists only after the agent has proved its identity.
import type { Push, Report } from '@fairlead/contract/agent';
import type { Clock, Log } from '@fairlead/core/kernel';
import type { RecordedPushes } from '@fairlead/core/link';
import type { LiveHub } from '../live/hub.ts';
import { frameEvents, logEvent } from '../live/live-events.ts';
import { createPushQueue } from '../push/push-queue.ts';
import type { ClockEstimate } from './clock-estimate.ts';
import type { ConnectedServer, Control } from './control.ts';
import { createLatestQueue } from './latest-queue.ts';
import type { SessionAction } from './machine.ts';

// Maximum age of a frame that is streamed live; older frames come from a spool, and charts read them from the store.
const liveAgeMaxMs = 30_000;
// Smaller differences are network jitter; following them would make seconds collide.
const offsetStepMs = 500;
const offsetWarnMs = 2_000;

export interface OpenSessionOptions {
  readonly server: ConnectedServer;
  readonly clockOffsetMs: number;
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
  /** `bytes`: the memory that the push takes. */
  push(push: Push, bytes: number): void;
  measure(estimate: ClockEstimate): void;
  /** Releases the server; resolves when nothing is being stored any more. */
  stop(): Promise<void>;
}

export function createOpenSession(options: OpenSessionOptions): OpenSession {
  const { server, control, hub, clock, log, send, fail } = options;
  let clockOffsetMs = options.clockOffsetMs;

  const syncs = createLatestQueue<null>(async () => {
    send({ case: 'state', value: await control.signedState(server) });
  }, fail);
  const reports = createLatestQueue<Report>(async (report) => {
    await control.recordReport(server, report);
    send({ case: 'reportAck', value: { reportId: report.reportId } });
  }, fail);
  const touches = createLatestQueue<ClockEstimate>(
    (estimate) => control.touch(server, { ...estimate, offsetMs: clockOffsetMs }),
    fail,
  );
  const pushes = createPushQueue({
    store: async (batch) => {
      const recorded = await control.recordPushes(server, batch, clockOffsetMs);
      // Publish only what was stored: the store has checked which apps and deployments belong to the server.
      publish(recorded);
      return recorded.acked;
    },
    acknowledge: (sequence) => send({ case: 'pushAck', value: { sequence } }),
    fail,
    pause: options.pause,
    resume: options.resume,
  });

  function publish({ frames, logs }: RecordedPushes): void {
    for (const frame of frames) {
      const ageMs = clock.now().getTime() - (Number(frame.agentUnixMs) - clockOffsetMs);
      if (Math.abs(ageMs) > liveAgeMaxMs) continue;
      for (const event of frameEvents(server.serverId, frame, clockOffsetMs)) hub.publish(server.organizationId, event);
    }
    for (const chunk of logs) {
      const event = logEvent(chunk, clockOffsetMs);
      if (event !== null) hub.publish(server.organizationId, event);
    }
  }

  return {
    server,
    sync: () => syncs.offer(null),
    report: (report) => reports.offer(report),
    push: (push, bytes) => {
      pushes.add(push, bytes);
    },
    measure: (estimate) => {
      const offsetMs = Math.round(estimate.offsetUs / 1000);
      if (Math.abs(offsetMs - clockOffsetMs) > offsetStepMs) {
        clockOffsetMs = offsetMs;
        const fields = { serverId: server.serverId, clockOffsetMs };
        if (Math.abs(offsetMs) > offsetWarnMs) log.warn(fields, "a server's clock is off; its samples are corrected");
      }
      touches.offer(estimate);
    },
    stop: async () => {
      await Promise.all([syncs.stop(), reports.stop(), touches.stop(), pushes.stop()]);
      await control.close(server);
    },
  };
}
