// Locations of a GitHub App's secrets. Each of the three envelopes opens only in its own column.

/** Columns of `github_app` that hold envelopes. */
export type GithubSecret = 'privateKey' | 'webhookSecret' | 'clientSecret';

export function githubSecretId(githubAppId: string, secret: GithubSecret): string {
  return `${githubAppId}.${secret}`;
}
