// Owns the questions to connected servers about apps' logs, and whose answer is whose. An answer counts only from the server
// that was asked; nothing is kept.
import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type LogLines, LogQuerySchema, LogStream } from '@fairlead/contract/agent';
import type { AppLogBatch, AppLogQuery } from '@fairlead/contract/app-log';
import { errorTable } from '@fairlead/contract/errors';
import type { ServerId } from '@fairlead/contract/ids';
import type { SessionAction } from '../session/machine.ts';

type Body = Extract<SessionAction, { type: 'send' }>['body'];

/** The open session of a server, as far as questions go. */
export interface LogAgent {
  readonly answersLogs: boolean;
  send(body: Body): void;
}

export interface LogQueries {
  /** Asks one server. `listener` gets batches until one is `done`; the answered function ends it early. */
  ask(serverId: ServerId, agent: LogAgent | null, query: AppLogQuery, listener: Listener): () => void;
  /** What a server sent. False: nobody asked it that. */
  answer(serverId: string, lines: LogLines): boolean;
  /** The server's session ended: whoever waits for it is told. */
  drop(serverId: string): void;
}

type Listener = (batch: AppLogBatch) => void;

interface Open {
  readonly serverId: ServerId;
  readonly listener: Listener;
}

const lineLengthMax = 16 * 1024;
const linesMax = 5000;
const streamNames: Readonly<Record<number, 'stdout' | 'stderr'>> = {
  [LogStream.STDOUT]: 'stdout',
  [LogStream.STDERR]: 'stderr',
};

export function createLogQueries(): LogQueries {
  const open = new Map<string, Open>();

  return {
    ask: (serverId, agent, query, listener) => {
      if (agent === null || !agent.answersLogs) {
        const code = agent === null ? 'log.unavailable' : 'log.unsupported';
        listener(ended(serverId, errorTable[code].message));
        return () => {};
      }
      const queryId = randomBytes(12).toString('hex');
      open.set(queryId, { serverId, listener });
      const { appId, environmentId, limit, follow } = query;
      agent.send({
        case: 'logQuery',
        value: create(LogQuerySchema, {
          queryId,
          appId,
          environmentId,
          limit,
          follow,
          process: query.process ?? '',
          instanceId: query.instanceId ?? '',
          text: query.text ?? '',
          regex: query.regex ?? false,
          level: query.level ?? '',
          fromUnixMs: BigInt(query.fromUnixMs ?? 0),
          toUnixMs: BigInt(query.toUnixMs ?? 0),
        }),
      });
      return () => {
        if (open.delete(queryId)) agent.send({ case: 'logCancel', value: { queryId } });
      };
    },
    answer: (serverId, lines) => {
      const found = open.get(lines.queryId);
      if (found === undefined || found.serverId !== serverId) return false;
      if (lines.done) open.delete(lines.queryId);
      found.listener(toBatch(found.serverId, lines));
      return true;
    },
    drop: (serverId) => {
      for (const [queryId, { serverId: asked, listener }] of open) {
        if (asked !== serverId) continue;
        open.delete(queryId);
        listener(ended(asked, errorTable['log.unavailable'].message));
      }
    },
  };
}

function ended(serverId: ServerId, failure: string): AppLogBatch {
  return { serverId, lines: [], done: true, more: false, failure };
}

/** Bounded, whatever an agent sends. */
function toBatch(serverId: ServerId, { lines, done, more, failure }: LogLines): AppLogBatch {
  return {
    serverId,
    done,
    more,
    failure: failure === undefined ? null : failure.message.slice(0, 500) || errorTable['log.query_invalid'].message,
    lines: lines.slice(0, linesMax).map((line) => ({
      unixMs: Number(line.unixMs),
      instanceId: line.instanceId.slice(0, 80),
      process: line.process.slice(0, 40) || 'web',
      releaseId: line.releaseId.slice(0, 80),
      stream: streamNames[line.stream] ?? 'system',
      level: line.level.slice(0, 10),
      text: line.text.slice(0, lineLengthMax),
    })),
  };
}
