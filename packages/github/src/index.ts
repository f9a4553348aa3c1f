export { appPermissions, createGithub, type Github } from './client.ts';
export { GithubError, type GithubErrorCode } from './errors.ts';
export type { CheckRun, RepositoryPlace } from './reporting.ts';
export type {
  AppKey,
  AppPermissions,
  GithubRepository,
  Installation,
  InstallationToken,
  Registration,
  TokenGrant,
} from './types.ts';
