// Reads payloads of GitHub's events about installations and repositories. Pure.
import { z } from 'zod';

const idSchema = z.number().int().positive();
/** It is stored as part of a name. */
const actionSchema = z.string().regex(/^[a-z_]{1,100}$/);
const installationRefSchema = z.object({ id: idSchema });
const repositoryRefSchema = z.object({ id: idSchema });

const installationEventSchema = z.object({
  action: actionSchema,
  installation: installationRefSchema.extend({ suspended_at: z.coerce.date().nullish() }),
});

const repositoriesEventSchema = z.object({
  action: actionSchema,
  installation: installationRefSchema,
  repositories_removed: z.array(repositoryRefSchema),
});

const targetEventSchema = z.object({
  action: actionSchema,
  account: z.object({ id: idSchema, login: z.string() }),
  installation: installationRefSchema,
});

const repositoryEventSchema = z.object({
  action: actionSchema,
  repository: repositoryRefSchema.extend({
    full_name: z.string(),
    default_branch: z.string(),
    private: z.boolean(),
    archived: z.boolean(),
  }),
});

const authorizationEventSchema = z.object({ action: actionSchema });

const schemas = {
  installation: installationEventSchema,
  installation_repositories: repositoriesEventSchema,
  installation_target: targetEventSchema,
  repository: repositoryEventSchema,
  github_app_authorization: authorizationEventSchema,
} as const;

export type GithubEventName = keyof typeof schemas;
type EventOf<Name extends GithubEventName> = { readonly name: Name } & z.infer<(typeof schemas)[Name]>;
export type GithubEvent = { [Name in GithubEventName]: EventOf<Name> }[GithubEventName];

export function isGithubEvent(name: string): name is GithubEventName {
  return Object.hasOwn(schemas, name);
}

/** Throws a SyntaxError or a ZodError for another shape. */
export function parseGithubEvent(name: GithubEventName, body: string): GithubEvent {
  return { name, ...schemas[name].parse(JSON.parse(body)) } as GithubEvent;
}
