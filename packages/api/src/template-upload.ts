// Stores the files of a new app's template as an upload, which its first deployment builds.
import type { CreateAppInput } from '@fairlead/core/app';
import { recordArtifact } from '@fairlead/core/artifact';
import type { Ctx } from '@fairlead/core/kernel';
import { addUpload } from './add-upload.ts';
import type { ApiContext } from './context.ts';

/** Returns the input with the digest of the template's files; any other input unchanged. */
export async function withTemplateUpload(
  ctx: ApiContext & { readonly core: Ctx },
  input: CreateAppInput,
): Promise<CreateAppInput> {
  const { source } = input;
  if (source.kind !== 'template') return input;
  const files = ctx.config.packTemplate(source.template);
  const { digest, sizeBytes } = await addUpload(ctx.artifacts, ctx.core.organizationId, files);
  await recordArtifact(ctx.core, { digest, kind: 'upload', sizeBytes });
  return { ...input, firstDeploy: { uploadDigest: digest } };
}
