// Updates the public addresses of a server.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, canonicalAddress, notifyChange } from '../kernel/index.ts';
import type { ServerAddresses, UpdateAddressesInput } from './schema.ts';
import { addressesView } from './store.ts';

/** An empty list returns to the detected addresses. */
export async function updateAddresses(
  ctx: Ctx,
  { serverId, addresses }: UpdateAddressesInput,
): Promise<ServerAddresses> {
  const where = { id: serverId, organizationId: ctx.organizationId };
  const server = await ctx.tx.server.findFirst({ where });
  if (server === null) throw new AppError('server.not_found', { serverId });
  const enteredAddresses = [...new Set(addresses.flatMap((address) => canonicalAddress(address) ?? []))];
  await ctx.tx.server.updateMany({ where, data: { enteredAddresses } });
  // Its hosts are checked against the new addresses at once.
  await ctx.tx.$executeRaw`
    UPDATE domain_host SET next_check_at = ${ctx.clock.now()}
    WHERE organization_id = ${ctx.organizationId} AND host IN (
      SELECT domain.host FROM domain
      JOIN placement ON placement.app_id = domain.app_id AND placement.environment_id = domain.environment_id
      JOIN placement_server ON placement_server.placement_id = placement.id
      WHERE placement_server.server_id = ${serverId} AND domain.organization_id = ${ctx.organizationId})`;
  await recordAudit(ctx, {
    action: 'server.update_addresses',
    target: { kind: 'server', id: serverId, label: server.name },
    before: { addresses: server.enteredAddresses.join(', ') },
    after: { addresses: enteredAddresses.join(', ') },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  return addressesView({ ...server, enteredAddresses });
}
