// Owns the shape of a release, which never changes once it exists.

import { appIdSchema, releaseIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { pageInputSchema, pageSchema } from '../kernel/page.ts';

export const releaseSchema = z.object({
  id: releaseIdSchema,
  number: z.number().int(),
  commitHash: z.string(),
  commitSubject: z.string(),
  commitAuthor: z.string(),
  committedAt: z.date(),
  artifactDigest: z.string(),
  artifactSizeBytes: z.number().int(),
  runtime: z.string(),
  command: z.array(z.string()),
  createdAt: z.date(),
  isLive: z.boolean(),
});
export type ReleaseView = z.infer<typeof releaseSchema>;

export const listReleasesInputSchema = pageInputSchema.extend({ appId: appIdSchema });
export type ListReleasesInput = z.infer<typeof listReleasesInputSchema>;
export const releasePageSchema = pageSchema(releaseSchema);
