// Pending app log queries to connected servers. An answer counts only from the server that was queried; nothing is
// stored.
import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type LogLines, LogQuerySchema, LogStream } from '@fairlead/contract/agent';
import type { AppLogBatch, AppLogQuery } from '@fairlead/contract/app-log';
import { errorTable } from '@fairlead/contract/errors';
import type { ServerId } from '@fairlead/contract/ids';
import type { SessionAction } from '../session/machine.ts';

type Body = Extract<SessionAction, { type: 'send' }>['body'];

/** Part of a server's open session that log queries need. */
export interface LogAgent {
  readonly answersLogs: boolean;
  send(body: Body): void;
}

export interface LogQueries {
  /** Queries one server. `listener` gets batches until one is `done`; the returned function cancels. */
  ask(serverId: ServerId, agent: LogAgent | null, query: AppLogQuery, listener: Listener): () => void;
  /** Passes a server's lines to their listener. Returns false when no query is open for them. */
  answer(serverId: string, lines: LogLines): boolean;
  /** Fails the pending queries of a server after its session ended. */
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
      for (const [queryId, query] of open) {
        if (query.serverId !== serverId) continue;
        open.delete(queryId);
        query.listener(ended(query.serverId, errorTable['log.unavailable'].message));
      }
    },
  };
}

function ended(serverId: ServerId, failure: string): AppLogBatch {
  return { serverId, lines: [], done: true, more: false, failure };
}

/** Truncates the batch, because an agent may send anything. */
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
