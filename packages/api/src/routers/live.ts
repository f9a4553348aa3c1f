// Live stream of a page. It ends when the session, the membership or the right to see one of its topics ends, and
// never holds a transaction.
import { type LiveEvent, type LiveTopic, liveEvent, liveTopic, liveTopicsMax } from '@fairlead/contract/live';
import { AppError, type OrganizationCtx } from '@fairlead/core/kernel';
import { requireTopics } from '@fairlead/core/live';
import { type Permission, type Scope, wholeOrganization } from '@fairlead/core/role';
import { z } from 'zod';
import type { Access } from '../access.ts';
import { type StreamSide, streamWhileAllowed } from '../open-streams.ts';
import { memberStream, router } from '../procedures.ts';
import { byDeployment, byRun, findSeenPlacement } from '../scopes.ts';

const watchInputSchema = z.object({
  topics: z.array(liveTopic).min(1).max(liveTopicsMax),
  /** Cursor that tRPC's client sends after a reconnect; this stream has no history, so it is accepted and unused. */
  lastEventId: z.string().nullish(),
});

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* parseEach(events: AsyncIterable<unknown>): AsyncGenerator<LiveEvent, void> {
  for await (const event of events) yield liveEvent.parse(event);
}

/** Checks every event before it is sent. */
const watchOutputSchema = z
  .custom<AsyncIterable<LiveEvent>>(isAsyncIterable, 'expected a stream')
  .transform((events) => parseEach(events));

export const liveRouter = router({
  watch: memberStream('app.read')
    .input(watchInputSchema)
    .output(watchOutputSchema)
    .subscription(({ ctx, input, signal }) =>
      streamWhileAllowed<LiveEvent>(ctx, { path: 'live.watch', signal }, async (side) => {
        const { access } = ctx;
        const { organizationId } = access;
        const { topics } = input;
        const needs = await ctx.database.tenant(organizationId, async (tx) => {
          const core = { tx, organizationId, clock: ctx.clock, log: ctx.log };
          const found: Need[] = [];
          for (const topic of topics) found.push(await needsOf(core, topic, access));
          requireNeeds(access, found);
          await requireTopics(core, { topics });
          return found;
        });
        const events = ctx.live.subscribe({ organizationId, topics, signal: side.signal });
        const projectOf = projectsOf((environmentId) =>
          ctx.database.tenant(organizationId, (tx) =>
            tx.environment.findFirst({ where: { id: environmentId, organizationId }, select: { projectId: true } }),
          ),
        );
        return { requireStill: (now) => requireNeeds(now, needs), items: shownOf(events, side, needs, projectOf) };
      }),
    ),
});

async function* shownOf(
  events: AsyncIterable<LiveEvent>,
  { access }: StreamSide,
  needs: readonly Need[],
  projectOf: ProjectOf,
): AsyncGenerator<LiveEvent, void> {
  for await (const event of events) if (await mayShow(access(), event, needs, projectOf)) yield event;
}

type ProjectOf = (environmentId: string) => Promise<string | null>;

/** Remembers the project of each environment, which never changes. */
function projectsOf(find: (environmentId: string) => Promise<{ readonly projectId: string } | null>): ProjectOf {
  const known = new Map<string, string | null>();
  return async (environmentId) => {
    const projectId = known.get(environmentId) ?? (await find(environmentId))?.projectId ?? null;
    known.set(environmentId, projectId);
    return projectId;
  };
}

/** Permissions and scope required to watch a topic. */
interface Need {
  readonly topicId: string;
  readonly permissions: readonly Permission[];
  readonly scope: Scope;
}

async function needsOf(core: OrganizationCtx, topic: LiveTopic, access: Access): Promise<Need> {
  const topicId = topic.id;
  switch (topic.kind) {
    case 'app': {
      const permissions = ['app.read', 'metric.read'] as const;
      const may = (there: Scope) => permissions.every((permission) => access.may(permission, there));
      const scope = await findSeenPlacement(core, { id: topic.id }, may);
      return { topicId, permissions, scope: scope ?? wholeOrganization };
    }
    case 'deployment': {
      const [scope = wholeOrganization] = await byDeployment.find(core, { deploymentId: topic.id });
      return { topicId, permissions: ['deployment.read'], scope };
    }
    case 'benchmark': {
      const [scope = wholeOrganization] = await byRun.find(core, { runId: topic.id });
      return { topicId, permissions: ['benchmark.read'], scope };
    }
    case 'server':
      return { topicId, permissions: ['server.read', 'metric.read'], scope: wholeOrganization };
    case 'organization':
      return { topicId, permissions: ['app.read', 'metric.read', 'server.read'], scope: wholeOrganization };
  }
}

/**
 * An app's samples come from all its environments, but its reader may have a grant for only one of them. Throws
 * permission.denied if the app moved to another project, where they may not see it.
 */
async function mayShow(
  access: Access,
  event: LiveEvent,
  needs: readonly Need[],
  projectOf: ProjectOf,
): Promise<boolean> {
  if (event.type !== 'app.sample' || access.may('metric.read')) return true;
  const { appId, environmentId } = event;
  const projectId = await projectOf(environmentId);
  if (access.may('metric.read', { projectId, environmentId })) return true;
  const need = needs.find(({ topicId }) => topicId === appId);
  if (need !== undefined && need.scope.projectId !== projectId) {
    throw new AppError('permission.denied', { permission: 'metric.read' });
  }
  return false;
}

function requireNeeds(access: Access, needs: readonly Need[]): void {
  for (const { permissions, scope } of needs) {
    const denied = permissions.find((permission) => !access.may(permission, scope));
    if (denied !== undefined) throw new AppError('permission.denied', { permission: denied });
  }
}
