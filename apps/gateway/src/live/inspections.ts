// Pending queries to connected servers for build plans. An answer counts only from the server that was queried; nothing is stored.
import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { Builder, type Inspection as InspectionMessage, InspectQuerySchema } from '@fairlead/contract/agent';
import { type ErrorCode, errorTable } from '@fairlead/contract/errors';
import type { ServerId } from '@fairlead/contract/ids';
import {
  type FailedInspection,
  type Inspection,
  type InspectQuery,
  inspectTimeoutMs,
} from '@fairlead/contract/inspection';
import type { SessionAction } from '../session/machine.ts';

/** Part of a server's open session that inspections need. */
export interface InspectingAgent {
  readonly inspects: boolean;
  send(body: Extract<SessionAction, { type: 'send' }>['body']): void;
}

export interface Inspections {
  /** Queries one server. `listener` gets one answer; the returned function cancels. */
  ask(agent: InspectingAgent | null, query: InspectQuery, listener: (inspection: Inspection) => void): () => void;
  /** Passes a server's answer to its listener. Returns false when no query is open for it. */
  answer(serverId: string, message: InspectionMessage): boolean;
  /** Fails the pending queries of a server after its session ended. */
  drop(serverId: string): void;
}

interface Open {
  readonly serverId: ServerId;
  end(inspection: Inspection): void;
}

/** Fallback timeout: an agent answers within its own timeout, or it is unresponsive. */
const silenceMaxMs = inspectTimeoutMs + 10_000;
const textLengthMax = 1001;
const listMax = 200;
const builders = {
  auto: Builder.UNSPECIFIED,
  native: Builder.NATIVE,
  dockerfile: Builder.DOCKERFILE,
} as const;

export function createInspections(): Inspections {
  const open = new Map<string, Open>();

  return {
    ask: (agent, query, listener) => {
      if (agent === null || !agent.inspects) {
        listener(failed(agent === null ? 'server.not_connected' : 'inspect.unsupported'));
        return () => {};
      }
      const queryId = randomBytes(12).toString('hex');
      const cancel = (): void => {
        clearTimeout(timer);
        if (open.delete(queryId)) agent.send({ case: 'inspectCancel', value: { queryId } });
      };
      const timer = setTimeout(() => {
        cancel();
        listener(failed('inspect.timeout'));
      }, silenceMaxMs);
      open.set(queryId, {
        serverId: query.serverId,
        end: (inspection) => {
          clearTimeout(timer);
          open.delete(queryId);
          listener(inspection);
        },
      });
      agent.send({ case: 'inspectQuery', value: toMessage(queryId, query) });
      return cancel;
    },
    answer: (serverId, message) => {
      const found = open.get(message.queryId);
      if (found === undefined || found.serverId !== serverId) return false;
      found.end(toInspection(message));
      return true;
    },
    drop: (serverId) => {
      for (const query of [...open.values()])
        if (query.serverId === serverId) query.end(failed('server.not_connected'));
    },
  };
}

function failed(code: ErrorCode): FailedInspection {
  return { kind: 'failed', code, sentence: errorTable[code].message, appFolders: [] };
}

function toMessage(queryId: string, query: InspectQuery) {
  const { organizationId: _, serverId: __, builder, ...source } = query;
  return create(InspectQuerySchema, {
    queryId,
    source: { ...source, builder: builders[builder], timeoutMs: inspectTimeoutMs },
  });
}

/** Truncates every field, because an agent may send anything. */
function toInspection({ failure, plan, commit, appFolders }: InspectionMessage): Inspection {
  if (plan === undefined || commit === undefined) {
    const { message } = errorTable['inspect.timeout'];
    return {
      kind: 'failed',
      code: text(failure?.code ?? 'inspect.timeout'),
      sentence: text(failure?.message ?? message),
      appFolders: texts(appFolders),
    };
  }
  return {
    kind: 'plan',
    commit: {
      hash: text(commit.hash),
      subject: text(commit.subject),
      author: text(commit.author),
      branch: text(commit.branch),
    },
    plan: {
      builder: plan.builder === Builder.DOCKERFILE ? 'dockerfile' : 'native',
      dockerfile: text(plan.dockerfile),
      framework: text(plan.framework),
      runtime: text(plan.runtime),
      tools: plan.tools.slice(0, listMax).map(({ tool, range, source }) => ({
        tool: text(tool),
        range: text(range),
        source: text(source),
      })),
      installCommands: texts(plan.installCommands),
      buildCommands: texts(plan.buildCommands),
      startCommand: text(plan.startCommand),
      outputFolders: texts(plan.outputFolders),
      workers: plan.workers.slice(0, listMax).map(({ name, command, instances }) => ({
        name: text(name),
        command: text(command),
        instances,
      })),
      releaseCommand: text(plan.releaseCommand),
      healthPath: text(plan.healthPath),
      listensOnSocket: plan.listensOnSocket,
      expectedVariables: texts(plan.expectedVariables),
      sentences: texts(plan.sentences),
    },
  };
}

function text(value: string): string {
  return value.slice(0, textLengthMax);
}

function texts(values: readonly string[]): string[] {
  return values.slice(0, listMax).map(text);
}
