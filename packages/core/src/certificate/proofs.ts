// Proofs that running orders wait for. For DNS-01 they become TXT records, which the worker sets; for TLS-ALPN-01 all servers of
// the host get them. An agent can only name proofs of its own order's host.
import { newId } from '@fairlead/contract/ids';
import { z } from 'zod';
import { loadZones } from '../dns-provider/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { findProofPlace, loadHostFacts } from './host-facts.ts';
import { validatedName } from './rules.ts';
import { bumpServersOfHost, loadHosts } from './store.ts';

/** An agent that restarts in the middle of an order reports new proofs. */
const proofsMax = 10;

const proofSchema = z.object({ host: z.string(), value: z.string().regex(/^[\w-]{43}$/) });
export type Proof = z.infer<typeof proofSchema>;
const proofsSchema = z.array(proofSchema);

export function readProofs(stored: unknown): readonly Proof[] {
  return proofsSchema.parse(stored);
}

export interface OrderWithProofs {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly challenge: string;
  readonly proofs: unknown;
}

/** Stores the proofs that an agent reports, and has them put in place. */
export async function recordProofs(
  ctx: OrganizationCtx,
  order: OrderWithProofs,
  reported: readonly { readonly host: string; readonly value: string }[],
): Promise<void> {
  const { tx, organizationId } = ctx;
  const { id, host, challenge } = order;
  const name = validatedName(host);
  const known = readProofs(order.proofs);
  const valid = reported.flatMap((proof) => proofSchema.safeParse(proof).data ?? []);
  const fresh = valid.filter((proof) => proof.host === name && !known.some(({ value }) => value === proof.value));
  if (fresh.length === 0 || known.length + fresh.length > proofsMax) return;
  const proofs = [...known, ...fresh.map(({ value }) => ({ host: name, value }))];
  if (challenge === 'dns-01') {
    await tx.certificate.update({ where: { id, organizationId }, data: { proofs } });
    await createRecords(ctx, order, fresh);
  } else if (challenge === 'tls-alpn-01') {
    await tx.certificate.update({ where: { id, organizationId }, data: { proofs } });
    // The versions are those with the proofs; the order continues once all servers that can be reached have applied theirs.
    const versions = await bumpServersOfHost(ctx, host);
    const servers = (await loadHosts(ctx, host)).get(host) ?? [];
    const responders = servers.filter(({ canProve }) => canProve);
    const unreadyServers = Object.fromEntries(responders.map((server) => [server.id, versions[server.id] ?? 0]));
    const respondersSince = ctx.clock.now();
    await tx.certificate.update({ where: { id, organizationId }, data: { unreadyServers, respondersSince } });
  }
}

async function createRecords(
  ctx: OrganizationCtx,
  { id, host, attempt }: OrderWithProofs,
  proofs: readonly Proof[],
): Promise<void> {
  const facts = await loadHostFacts(ctx, [host]);
  const found = findProofPlace(await loadZones(ctx), host, facts(host));
  // A provider that was deleted in the meantime: the order ends without its proof.
  if (found === null) return;
  const now = ctx.clock.now();
  await ctx.tx.dnsRecord.createMany({
    data: proofs.map(({ value }) => ({
      id: newId('dnr'),
      organizationId: ctx.organizationId,
      providerId: found.providerId,
      certificateId: id,
      attempt,
      zone: found.zone,
      name: found.name,
      value,
      state: 'put',
      nextAt: now,
      createdAt: now,
    })),
    skipDuplicates: true,
  });
}
