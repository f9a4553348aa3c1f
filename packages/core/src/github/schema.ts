// Schemas of GitHub Apps, installations and repositories. Keys and tokens are in none of them.
import { appIdSchema, githubAppIdSchema, githubInstallationIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { searchSchema } from '../kernel/page.ts';
import { branchSchema } from '../source/schema.ts';
import { githubDotCom, normalizeBaseUrl } from './rules.ts';

const baseUrlSchema = z
  .string()
  .max(300)
  .default(githubDotCom)
  .superRefine((typed, check) => {
    if (normalizeBaseUrl(typed) !== null) return;
    const message = 'Enter the https:// address of the server without a path, such as https://github.example.com.';
    check.addIssue({ code: 'custom', message });
  })
  .transform((typed) => normalizeBaseUrl(typed) ?? typed);

/** Login of an account at GitHub. */
const loginSchema = z
  .string()
  .trim()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$|^$/, 'Enter the name of an account as in its URL, such as acme.');

export const startRegistrationInputSchema = z.object({
  baseUrl: baseUrlSchema,
  /** Organization at GitHub that owns the app; empty: the person's own account. */
  owner: loginSchema.default(''),
});
export type StartRegistrationInput = z.infer<typeof startRegistrationInputSchema>;

/** A form that the browser posts to GitHub. */
export const startedRegistrationSchema = z.object({ action: z.string(), manifest: z.string() });
export type StartedRegistration = z.infer<typeof startedRegistrationSchema>;

const stateSchema = z.string().min(1).max(200);
const codeSchema = z.string().min(1).max(300);

export const completeRegistrationInputSchema = z.object({ state: stateSchema, code: codeSchema });
export type CompleteRegistrationInput = z.infer<typeof completeRegistrationInputSchema>;

export const githubAppRefSchema = z.object({ githubAppId: githubAppIdSchema });
export type GithubAppRef = z.infer<typeof githubAppRefSchema>;

export const redirectSchema = z.object({ url: z.string() });

export const completeInstallInputSchema = z.object({
  state: stateSchema,
  code: codeSchema,
  /** As GitHub's redirect names it. It counts only if GitHub shows this installation to the person of the code. */
  installationId: z.number().int().positive(),
});
export type CompleteInstallInput = z.infer<typeof completeInstallInputSchema>;

export const linkedInstallationSchema = z.object({
  installationId: githubInstallationIdSchema,
  accountLogin: z.string(),
});
export type LinkedInstallation = z.infer<typeof linkedInstallationSchema>;

const installationSchema = z.object({
  id: githubInstallationIdSchema,
  accountLogin: z.string(),
  accountType: z.string(),
  state: z.enum(['active', 'suspended', 'removed']),
  repositorySelection: z.string(),
  repositories: z.number().int(),
  /** Apps that are built from its repositories. */
  apps: z.number().int(),
  syncedAt: z.date().nullable(),
  manageUrl: z.string(),
});

export const githubAppListSchema = z.object({
  items: z.array(
    z.object({
      id: githubAppIdSchema,
      name: z.string(),
      baseUrl: z.string(),
      ownerLogin: z.string(),
      url: z.string(),
      createdAt: z.date(),
      installations: z.array(installationSchema),
    }),
  ),
});
export type GithubAppList = z.infer<typeof githubAppListSchema>;

const appAddressSchema = z.object({
  /** Empty: none. */
  atGithub: z.string(),
  expected: z.string(),
  /** It is no address of the dashboard. */
  isForeign: z.boolean(),
});

export const githubAppAddressesSchema = z.object({
  githubAppId: githubAppIdSchema,
  webhook: appAddressSchema,
  homepage: appAddressSchema,
  /** Callback URLs that the app needs. GitHub does not tell which it has. */
  callbackUrls: z.array(z.string()),
  /** Page at GitHub where an owner of the app changes them. */
  settingsUrl: z.string(),
});
export type GithubAppAddresses = z.infer<typeof githubAppAddressesSchema>;

/** GitHub's id of a repository. */
const repositoryIdSchema = z.number().int().positive();

export const repositoryRefSchema = z.object({
  installationId: githubInstallationIdSchema,
  repositoryId: repositoryIdSchema,
});
export type RepositoryRef = z.infer<typeof repositoryRefSchema>;

export const listRepositoriesInputSchema = z.object({ search: searchSchema.optional() });
export type ListRepositoriesInput = z.infer<typeof listRepositoriesInputSchema>;

export const repositorySchema = repositoryRefSchema.extend({
  fullName: z.string(),
  defaultBranch: z.string(),
  isPrivate: z.boolean(),
  url: z.string(),
  pushedAt: z.date().nullable(),
});
export type RepositoryView = z.infer<typeof repositorySchema>;
export const repositoryListSchema = z.object({
  items: z.array(repositorySchema),
  /** True if more repositories match. */
  more: z.boolean(),
  /** Installations that are in use. */
  installations: z.number().int(),
});
export type RepositoryList = z.infer<typeof repositoryListSchema>;

export const inspectRepositoryInputSchema = repositoryRefSchema.extend({ branch: branchSchema.default('') });
export type InspectRepositoryInput = z.infer<typeof inspectRepositoryInputSchema>;
export const repositoryContentSchema = z.object({
  branches: z.array(z.string()),
  /** Folders that have an app's manifest, such as package.json; "" is the root. */
  folders: z.array(z.string()),
});
export type RepositoryContent = z.infer<typeof repositoryContentSchema>;

export const linkRepositoryInputSchema = repositoryRefSchema.extend({ appId: appIdSchema });
export type LinkRepositoryInput = z.infer<typeof linkRepositoryInputSchema>;

export const appRepositorySchema = z.object({
  /** Null: the app's source is no repository of a GitHub App. */
  repository: z
    .object({
      fullName: z.string(),
      url: z.string(),
      defaultBranch: z.string(),
      accountLogin: z.string(),
      state: z.enum(['active', 'suspended', 'removed', 'lost']),
    })
    .nullable(),
});
export type AppRepositoryView = z.infer<typeof appRepositorySchema>;
