// Keeps the saved plan of an app and environment equal to fairlead.bench.json in the source of its newest release.
// Invariant: a plan of a member is never overwritten or deleted, load servers stay, and a bad file stops no deployment.
import { isDeepStrictEqual } from 'node:util';
import { newId } from '@fairlead/contract/ids';
import { changedFields, recordAudit } from '../audit/index.ts';
import { isUniqueViolation, type OrganizationCtx, withSavepoint } from '../kernel/index.ts';
import { changedPlanFields } from './changed-plan-fields.ts';
import { plansMax } from './create-plan.ts';
import { type PlanDocument, planDocumentSchema } from './schema.ts';

const FILE = 'fairlead.bench.json';
const bytesMax = 64 * 1024;
const actor = { kind: 'system', reason: FILE } as const;

interface Where {
  readonly appId: string;
  readonly environmentId: string;
}

export interface RepositoryPlan extends Where {
  /** Content of the file; empty: there is none. Null: the agent did not read it, and nothing changes. */
  readonly content: string | null;
}

/** Returns a sentence about the outcome; null if there is no file. */
export async function syncRepositoryPlan(
  ctx: OrganizationCtx,
  { content, ...where }: RepositoryPlan,
): Promise<string | null> {
  if (content === null) return null;
  const { document, problem } = content === '' ? noDocument : readDocument(content);
  if (problem !== '') return refused(problem);
  // The transaction holds the report of the whole server, which a failure must not lose.
  const result = await withSavepoint(ctx.tx, () =>
    document === null ? releasePlan(ctx, where) : savePlan(ctx, where, document),
  );
  if (result.done) return result.value;
  if (isUniqueViolation(result.error)) {
    return refused(`another plan has the name ${document?.name}. Rename one of them, then deploy again.`);
  }
  ctx.log.error({ err: result.error, ...where }, 'the benchmark plan of a repository could not be saved');
  return refused('it could not be saved. Deploy again.');
}

const noDocument = { document: null, problem: '' } as const;
const refused = (why: string) => `The benchmark plan of ${FILE} is not used: ${why}`;

/** Deletes the plan, or turns one with a schedule into an ordinary plan. */
async function releasePlan(ctx: OrganizationCtx, where: Where): Promise<null> {
  const { tx, organizationId } = ctx;
  const plan = await findPlan(ctx, where);
  if (plan === null) return null;
  const { id, name, schedule, app } = plan;
  const target = { kind: 'benchmark_plan', id, label: name };
  if (schedule === null) {
    await tx.benchmarkPlan.deleteMany({ where: { id, organizationId } });
    await recordAudit(
      { ...ctx, actor },
      { action: 'benchmark.delete_plan', target, before: { name, appName: app.name } },
    );
  } else {
    await tx.benchmarkPlan.updateMany({
      where: { id, organizationId },
      data: { isFromRepository: false, updatedAt: ctx.clock.now() },
    });
    await recordAudit(
      { ...ctx, actor },
      {
        action: 'benchmark.update_plan',
        target,
        before: { isFromRepository: true },
        after: { appName: app.name, isFromRepository: false },
      },
    );
  }
  return null;
}

async function savePlan(ctx: OrganizationCtx, where: Where, { name, plan }: PlanDocument): Promise<string> {
  const { tx, organizationId } = ctx;
  const { appId } = where;
  const updatedAt = ctx.clock.now();
  const saved = `${FILE} is the benchmark plan ${name}.`;
  const before = await findPlan(ctx, where);
  if (before === null) {
    if ((await tx.benchmarkPlan.count({ where: { appId, organizationId } })) >= plansMax) {
      return refused(`this app has ${plansMax} benchmark plans already. Delete one, then deploy again.`);
    }
    const id = newId('bpl');
    const { app } = await tx.benchmarkPlan.create({
      data: { id, organizationId, ...where, name, plan, isFromRepository: true, createdAt: updatedAt, updatedAt },
      select: { app: { select: { name: true } } },
    });
    await recordAudit(
      { ...ctx, actor },
      {
        action: 'benchmark.create_plan',
        target: { kind: 'benchmark_plan', id, label: name },
        after: { ...where, appName: app.name },
      },
    );
    return saved;
  }
  const { id, app } = before;
  const isChanged = !isSame(before.plan, plan);
  if (!isChanged && before.name === name) return saved;
  await tx.benchmarkPlan.updateMany({
    where: { id, organizationId },
    data: { name, plan, updatedAt, version: { increment: 1 } },
  });
  const target = { kind: 'benchmark_plan', id, label: name };
  const names = changedFields({ name: before.name }, { name });
  const contents = changedPlanFields(before.plan, plan);
  await recordAudit(
    { ...ctx, actor },
    {
      action: 'benchmark.update_plan',
      target,
      before: { ...names.before, ...contents.before },
      after: { appName: app.name, ...names.after, ...contents.after },
    },
  );
  if (!isChanged) return saved;
  // A commit is no decision to run its load: a member looks at it first. The update above locked the plan, so this also finds
  // a schedule that a member set for the version before.
  const { count } = await tx.benchmarkSchedule.updateMany({
    where: { planId: id, organizationId, pausedAt: null },
    data: { pausedAt: updatedAt },
  });
  if (count === 0) return saved;
  await recordAudit(
    { ...ctx, actor },
    {
      action: 'benchmark.pause_schedule',
      target,
      before: { paused: false },
      after: { appName: app.name, paused: true },
    },
  );
  return `${saved} It changed, so its schedule is paused.`;
}

async function findPlan({ tx, organizationId }: OrganizationCtx, where: Where) {
  return await tx.benchmarkPlan.findFirst({
    where: { organizationId, ...where, isFromRepository: true },
    select: {
      ...{ id: true, name: true, plan: true },
      app: { select: { name: true } },
      schedule: { select: { pausedAt: true } },
    },
  });
}

type ReadDocument =
  | { readonly document: PlanDocument; readonly problem: '' }
  | { readonly document: null; readonly problem: string };

function readDocument(content: string): ReadDocument {
  if (Buffer.byteLength(content) > bytesMax) {
    return { document: null, problem: `it has more than ${bytesMax / 1024} KiB.` };
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { document: null, problem: 'it is not JSON.' };
  }
  const { data, error } = planDocumentSchema.safeParse(value);
  if (data !== undefined) return { document: data, problem: '' };
  const [first] = error.issues;
  const at = first === undefined || first.path.length === 0 ? '' : `${first.path.join('.')}: `;
  return { document: null, problem: `${at}${first?.message ?? 'it is invalid.'}` };
}

/** Compares parsed plans without the order of keys, which PostgreSQL changes in a stored object. */
function isSame(stored: unknown, plan: PlanDocument['plan']): boolean {
  const known = planDocumentSchema.shape.plan.safeParse(stored);
  return known.success && isDeepStrictEqual(known.data, plan);
}
