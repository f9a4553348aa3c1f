// Schemas of an app's source.
import { environmentIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { inspection } from '@fairlead/contract/inspection';
import { z } from 'zod';
import { commandSchema } from '../kernel/process.ts';
import { fromScpForm, refProblem, repositoryProblem, rootFolderProblem, urlLengthMax } from './rules.ts';

/** Repository URL, stored in its normal form: a parser accepts many spellings of an address that an agent would refuse. */
export const repositoryUrlSchema = z
  .string()
  .trim()
  .max(urlLengthMax)
  .superRefine(tell((url) => repositoryProblem(fromScpForm(url))))
  // The host of an ssh address is no URL's to a parser, so its case is ours to settle.
  .transform((given) => {
    const url = fromScpForm(given);
    return url.startsWith('ssh://') ? url : new URL(url).href;
  });

/** A branch, tag or commit hash. */
export const refSchema = z
  .string()
  .trim()
  .min(1, 'Name a branch, tag or commit.')
  .max(200)
  .superRefine(tell(refProblem));

/** Hash of a commit or of a tag object; SHA-1 or SHA-256. */
export const objectHashSchema = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** Empty: the repository's default branch. */
export const branchSchema = z
  .string()
  .trim()
  .max(200)
  .superRefine(tell((branch) => (branch === '' ? null : refProblem(branch))));

/** Folder inside the repository, "" for its root; no leading or trailing slash. */
export const rootFolderSchema = z
  .string()
  .trim()
  .max(300)
  // No transform: the type stays a string for readers of our schemas.
  .overwrite((folder) => folder.replace(/^(?:\.?\/)+|\/+$|^\.$/g, ''))
  .superRefine(tell(rootFolderProblem));

function tell(problemOf: (value: string) => string | null) {
  return (value: string, ctx: z.RefinementCtx): void => {
    const message = problemOf(value);
    if (message !== null) ctx.addIssue({ code: 'custom', message });
  };
}

/** Over http only: this control plane has no key of its own for a repository. */
export const listBranchesInputSchema = z.object({
  repositoryUrl: repositoryUrlSchema.refine(
    (url) => !url.startsWith('ssh://'),
    'The branches of a repository over ssh are not listed here; type the name of one.',
  ),
});
export const sourceBranchesSchema = z.object({
  branches: z.array(z.string()),
  /** Null if the repository is empty or names none. */
  defaultBranch: z.string().nullable(),
});
export type SourceBranches = z.infer<typeof sourceBranchesSchema>;

/** A source before there is an app. Empty fields are what the builder detects. */
export const inspectSourceInputSchema = z.object({
  repositoryUrl: repositoryUrlSchema.refine(
    (url) => !url.startsWith('ssh://'),
    'A repository over ssh is read by its first build, which has the deploy key of the app.',
  ),
  branch: branchSchema.default(''),
  rootFolder: rootFolderSchema.default(''),
  /** The server that reads it. */
  serverId: serverIdSchema,
  /** Environment in which the app would be made; without one, in the organization's first environment. */
  environmentId: environmentIdSchema.optional(),
  builder: z.enum(['auto', 'native', 'dockerfile']).default('auto'),
  installCommand: commandSchema.default([]),
  buildCommand: commandSchema.default([]),
  startCommand: commandSchema.default([]),
  outputFolder: rootFolderSchema.default(''),
  dockerfile: rootFolderSchema.default(''),
});
export type InspectSourceInput = z.infer<typeof inspectSourceInputSchema>;

export const inspectionSchema = inspection;
