// Updates a domain's policy. It takes effect at once, without a deployment.
import { supports } from '@fairlead/contract/capabilities';
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { policyCapabilities } from '../desired-state/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf, requireNoPreview, requirePlacement } from '../placement/index.ts';
import {
  hashPassword,
  type Policy,
  policySchema,
  routePolicy,
  type StoredPolicy,
  storedPolicySchema,
} from '../traffic/index.ts';
import { domainLabel } from './rules.ts';
import type { UpdateDomainPolicyInput } from './schema.ts';

export async function updateDomainPolicy(ctx: Ctx, { domainId, policy }: UpdateDomainPolicyInput): Promise<Policy> {
  const { organizationId } = ctx;
  const domain = await ctx.tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { appId: true, environmentId: true, host: true, pathPrefix: true, policy: true, automatic: true },
  });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  if (domain.automatic) await requireNoPreview(ctx, domain);
  const before = storedPolicySchema.parse(domain.policy);
  const after: StoredPolicy = { ...policy, basicAuth: await withHashes(policy.basicAuth, before.basicAuth) };
  await requireCapabilities(ctx, domain, after);
  const { forwardAuth } = after;
  if (forwardAuth !== null) {
    await requirePlacement(ctx, { appId: forwardAuth.app, environmentId: domain.environmentId });
  }
  await ctx.tx.domain.updateMany({
    where: { id: domainId, organizationId },
    data: { policy: isPlain(after) ? {} : after },
  });
  await bumpServersOf(ctx, domain);
  await recordAudit(ctx, {
    action: 'domain.update_policy',
    target: { kind: 'domain', id: domainId, label: domainLabel(domain) },
    ...changesOf(before, after),
  });
  await notifyChange(ctx, { kind: 'app', id: domain.appId, appId: domain.appId });
  return policySchema.parse(after);
}

/** Every server of the domain must apply the policy: an older agent would refuse its whole state. */
async function requireCapabilities(
  ctx: Ctx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
  policy: StoredPolicy,
): Promise<void> {
  const message = routePolicy(policy);
  const needed = message === null ? [] : policyCapabilities(message);
  if (needed.length === 0) return;
  const placed = await ctx.tx.placementServer.findMany({
    where: { placement: { appId, environmentId }, organizationId: ctx.organizationId },
    select: { server: { select: { name: true, capabilities: true } } },
    orderBy: { serverId: 'asc' },
  });
  for (const { server } of placed) {
    const missing = needed.find((name) => !supports(server.capabilities, name));
    if (missing !== undefined)
      throw new AppError('domain.capability_missing', { server: server.name, capability: missing });
  }
}

type AuthInput = UpdateDomainPolicyInput['policy']['basicAuth'];

async function withHashes(auth: AuthInput, before: StoredPolicy['basicAuth']): Promise<StoredPolicy['basicAuth']> {
  if (auth === null) return null;
  const known = new Map(before?.users.map(({ name, passwordHash }) => [name, passwordHash]));
  const users = auth.users.map(async ({ name, password }) => {
    const passwordHash = password === undefined ? known.get(name) : await hashPassword(password);
    if (passwordHash === undefined) throw new AppError('domain.password_missing', { name });
    return { name, passwordHash };
  });
  return { ...auth, users: await Promise.all(users) };
}

/** Only what differs; of a password, that it is another one, and of a page, how long it is. */
function changesOf(before: StoredPolicy, after: StoredPolicy): { before: AuditFields; after: AuditFields } {
  const names = (Object.keys(after) as (keyof StoredPolicy)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const kept = hashesOf(before).filter((hash) => hashesOf(after).includes(hash));
  const tell = (key: string, value: unknown) => {
    if (key === 'passwordHash') return kept.includes(String(value)) ? 'kept' : 'another';
    return key === 'body' ? `${String(value).length} characters` : value;
  };
  const side = (policy: StoredPolicy) =>
    Object.fromEntries(names.map((name) => [name, JSON.stringify(policy[name], tell)]));
  return { before: side(before), after: side(after) };
}

function hashesOf(policy: StoredPolicy): string[] {
  return policy.basicAuth?.users.map(({ passwordHash }) => passwordHash) ?? [];
}

/** A policy of nothing but defaults is stored as an empty object, which `hasPolicy` checks. */
function isPlain(policy: StoredPolicy): boolean {
  const plain = storedPolicySchema.parse({});
  const names = Object.keys(plain) as (keyof StoredPolicy)[];
  return names.every((name) => JSON.stringify(policy[name]) === JSON.stringify(plain[name]));
}
