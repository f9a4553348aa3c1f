// Deletes a server, whether its agent answers or not.
import type { Ctx } from '../kernel/index.ts';
import { endServer, requireDeletable } from './end-server.ts';
import type { DeleteServerInput, GetServerInput } from './schema.ts';

/**
 * Forgets a server without apps. Its agent is refused from then on, and keeps serving until a person removes it there.
 * Throws server.not_found, server.is_local, server.in_use and server.confirm_mismatch.
 */
export async function deleteServer(ctx: Ctx, input: DeleteServerInput): Promise<GetServerInput> {
  const { serverId } = input;
  const { name } = await requireDeletable(ctx, input);
  await endServer(ctx, { serverId, name });
  return { serverId };
}
