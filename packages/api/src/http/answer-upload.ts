// Stores an uploaded tar.gz and answers with its digest, for deployment.create or, without an app, for app.create. Streams to
// the store, never into memory. Requires the permission and scope of the deployment that will use it.
import { environmentIdSchema } from '@fairlead/contract/ids';
import { artifactBytesMax, recordArtifact } from '@fairlead/core/artifact';
import { AppError, type OrganizationCtx } from '@fairlead/core/kernel';
import { placementInputSchema } from '@fairlead/core/placement';
import { z } from 'zod';
import { type Access, requireAccess } from '../access.ts';
import { addUpload, type Upload } from '../add-upload.ts';
import { type ApiContext, type ApiParts, createContext } from '../context.ts';
import { problemOf } from '../problem.ts';
import { byPlacement, findScopeOfNewApp } from '../scopes.ts';

export const uploadPath = 'deployment/upload';

const gzipMagic = [0x1f, 0x8b];
const digestHeader = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** Answers the dashboard: `?organization=…&appId=…&environmentId=…`. An upload for a new app has no `appId`. */
export async function answerPageUpload(parts: ApiParts, request: Request): Promise<Response> {
  const organizationSlug = new URL(request.url).searchParams.get('organization');
  const ctx = createContext(parts, { headers: request.headers, organizationSlug });
  try {
    await parts.rateLimit.admit(ctx, 1);
    return Response.json(await answerUpload(ctx, request), { headers: { 'cache-control': 'no-store' } });
  } catch (error) {
    return problemOf(error, ctx.log, 'deployment.upload');
  }
}

/** Throws permission.denied, app.not_found and environment.not_found before a byte is read. */
export async function answerUpload(ctx: ApiContext, request: Request): Promise<Upload> {
  const access = await requireAccess(ctx);
  const { organizationId } = access;
  const core = { organizationId, clock: ctx.clock, log: ctx.log };
  await ctx.database.tenant(organizationId, (tx) =>
    requireMayDeploy({ ...core, tx }, access, new URL(request.url).searchParams),
  );
  if (Number(request.headers.get('content-length') ?? 0) > artifactBytesMax || request.body === null) {
    throw new AppError(request.body === null ? 'artifact.upload_invalid' : 'request.too_large');
  }
  const announced = request.headers.get('content-length');
  const wanted = digestHeader.safeParse(request.headers.get('x-fairlead-digest'));
  // A broken upload looks like a shorter folder. Its length or digest shows that here, not after a build.
  const added = await addUpload(ctx.artifacts, organizationId, gzipOnly(request.body), {
    hex: wanted.data?.slice('sha256:'.length),
    sizeBytes: announced === null ? undefined : Number(announced),
  });
  await ctx.database.tenant(organizationId, (tx) => recordArtifact({ ...core, tx }, { ...added, kind: 'upload' }));
  return added;
}

async function requireMayDeploy(core: OrganizationCtx, access: Access, query: URLSearchParams): Promise<void> {
  const permission = 'deployment.write';
  const [appId, environmentId] = [query.get('appId'), query.get('environmentId') ?? undefined];
  if (appId === null) {
    // An upload for an app that does not exist yet counts like one of a deployment that ended.
    if (!access.may('app.write')) throw new AppError('permission.denied', { permission: 'app.write' });
    const parsed = environmentIdSchema.optional().safeParse(environmentId);
    const scope = parsed.success ? await findScopeOfNewApp(core, parsed.data) : null;
    if (scope === null) throw new AppError('environment.not_found', { environmentId });
    if (!access.may(permission, scope)) throw new AppError('permission.denied', { permission });
    return;
  }
  const placement = placementInputSchema.safeParse({ appId, environmentId });
  const [scope] = placement.success ? await byPlacement.find(core, placement.data) : [];
  if (scope !== undefined && access.may(permission, scope)) return;
  if (!access.may(permission)) throw new AppError('permission.denied', { permission });
  throw new AppError('app.not_found', { appId });
}

async function* gzipOnly(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let seen = 0;
  for await (const chunk of bytes) {
    for (const [at, magic] of gzipMagic.entries()) {
      const byte = chunk[at - seen];
      if (at >= seen && byte !== undefined && byte !== magic) throw new AppError('artifact.upload_invalid');
    }
    seen += chunk.length;
    yield chunk;
  }
  if (seen < gzipMagic.length) throw new AppError('artifact.upload_invalid');
}
