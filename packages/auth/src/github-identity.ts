// Port to GitHub: the OAuth clients of connected GitHub Apps. packages/api implements it, because organizations own the apps.

/** GitHub App with the OAuth client that proves a person's account. */
export interface GithubClient {
  readonly githubAppId: string;
  readonly name: string;
  /** Origin of GitHub's web pages. */
  readonly baseUrl: string;
  readonly clientId: string;
}

export interface GithubPerson {
  /** Identifies the person: logins and addresses can pass to another owner. */
  readonly githubUserId: number;
  readonly login: string;
}

export interface ProvenCode {
  readonly githubAppId: string;
  readonly code: string;
  readonly verifier: string;
  readonly redirectUrl: string;
}

export interface GithubIdentity {
  /** App that signs people in, as the operator chose it; null: none. */
  findSignInClient(): Promise<GithubClient | null>;
  /** Apps of the person's organizations. */
  listClients(userId: string): Promise<readonly GithubClient[]>;
  /** Exchanges the code of a redirect, once. Throws github.code_refused, and the errors of an outage. */
  readPerson(proof: ProvenCode): Promise<GithubPerson>;
}
