// Keeps the saved plan of an app and environment equal to fairlead.bench.json in the source of its newest release.
// Invariant: a plan of a member is never overwritten or deleted, and a bad file stops no deployment.
import { newId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type PlanDocument, planDocumentSchema } from './schema.ts';

const FILE = 'fairlead.bench.json';
const bytesMax = 64 * 1024;

export interface RepositoryPlan {
  readonly appId: string;
  readonly environmentId: string;
  /** Content of the file; empty: there is none. Null: the agent did not read it, and nothing changes. */
  readonly content: string | null;
}

/** Returns a sentence about the outcome; null if there is no file. */
export async function syncRepositoryPlan(
  ctx: OrganizationCtx,
  { appId, environmentId, content }: RepositoryPlan,
): Promise<string | null> {
  if (content === null) return null;
  const { tx, organizationId } = ctx;
  const where = { organizationId, appId, environmentId, isFromRepository: true };
  const updatedAt = ctx.clock.now();
  if (content === '') {
    // Turns it into an ordinary plan, which keeps its schedule and the names of its runs.
    await tx.benchmarkPlan.updateMany({ where, data: { isFromRepository: false, updatedAt } });
    return null;
  }
  const { document, problem } = readDocument(content);
  const refused = (why: string) => `The benchmark plan of ${FILE} is not used: ${why}`;
  if (document === null) return refused(problem);
  const { name, plan } = document;
  const before = await tx.benchmarkPlan.findFirst({ where });
  const known = await tx.benchmarkPlan.findFirst({
    where: { organizationId, appId, environmentId, name, isFromRepository: false },
    select: { id: true },
  });
  if (known !== null) return refused(`another plan has the name ${name}. Rename one of them, then deploy again.`);
  if (before === null) {
    const id = newId('bpl');
    const data = { id, organizationId, appId, environmentId, name, plan, isFromRepository: true };
    // A violated constraint would abort the transaction of the deployment.
    const { count } = await tx.benchmarkPlan.createMany({
      data: [{ ...data, createdAt: updatedAt, updatedAt }],
      skipDuplicates: true,
    });
    if (count === 0) return refused(`another plan has the name ${name}. Rename one of them, then deploy again.`);
  } else if (before.name !== name || !isSame(before.plan, plan)) {
    await tx.benchmarkPlan.updateMany({
      where: { id: before.id, organizationId },
      data: { name, plan, updatedAt, version: { increment: 1 } },
    });
  }
  return `${FILE} is the benchmark plan ${name}.`;
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

/** Compares parsed plans, because PostgreSQL reorders the keys of a stored object. */
function isSame(stored: unknown, plan: PlanDocument['plan']): boolean {
  const known = planDocumentSchema.shape.plan.safeParse(stored);
  return known.success && JSON.stringify(known.data) === JSON.stringify(plan);
}
