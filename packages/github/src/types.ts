// Values that the client returns, in Fairlead's names.
import type { Endpoints } from '@octokit/types';

/** Key pair of a GitHub App. */
export interface AppKey {
  readonly baseUrl: string;
  readonly githubId: number;
  /** PEM. */
  readonly privateKey: string;
}

/** Addresses of a GitHub App that its API tells. It keeps callback URLs to itself. */
export interface AppAddresses {
  readonly homepageUrl: string;
  /** Empty: none. */
  readonly webhookUrl: string;
  /** `User`, `Organization` or `Enterprise`. */
  readonly ownerType: string;
}

/** New GitHub App, with its secrets. */
export interface Registration {
  readonly githubId: number;
  readonly slug: string;
  readonly name: string;
  readonly ownerLogin: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly privateKey: string;
}

export interface Installation {
  readonly installationId: number;
  /** Id of the app that is installed. */
  readonly githubId: number;
  readonly accountId: number;
  readonly accountLogin: string;
  readonly accountType: string;
  readonly repositorySelection: 'all' | 'selected';
  readonly suspendedAt: Date | null;
}

export interface GithubRepository {
  readonly repositoryId: number;
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly isArchived: boolean;
  readonly pushedAt: Date | null;
}

export interface Branch {
  readonly name: string;
  readonly commitHash: string;
}

/** Attempt to deliver a webhook, in GitHub's log. */
export interface SentDelivery {
  readonly deliveryId: number;
  /** Id of the webhook, which further attempts share. */
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly deliveredAt: Date;
}

export interface DeliveryPage {
  readonly items: readonly SentDelivery[];
  /** Cursor of the next page; null: this is the last. */
  readonly next: string | null;
}

export type DeliveryData = Endpoints['GET /app/hook/deliveries']['response']['data'][number];

type TokenParameters = Endpoints['POST /app/installations/{installation_id}/access_tokens']['parameters'];
export type AppPermissions = NonNullable<TokenParameters['permissions']>;

/** Permissions and repositories of a token; without repositories: all of the installation. */
export interface TokenGrant {
  readonly permissions: AppPermissions;
  readonly repositoryIds?: readonly number[];
}

export interface InstallationToken {
  readonly token: string;
  readonly expiresAt: Date;
}

export type InstallationData = Endpoints['GET /app/installations/{installation_id}']['response']['data'];
