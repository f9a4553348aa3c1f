// Everything that the fake GitHub knows. Tests read and change it directly.
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

export type Permissions = Readonly<Record<string, string>>;

export interface FakeAccount {
  readonly id: number;
  login: string;
  readonly type: 'User' | 'Organization';
}

export interface FakeApp {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly ownerLogin: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly pem: string;
  readonly publicKey: KeyObject;
  readonly permissions: Permissions;
  readonly events: readonly string[];
  hookUrl: string | null;
  homepageUrl: string;
  /** Installations return to the first; redirects that ask for a person name one. */
  callbackUrls: readonly string[];
  readonly isPublic: boolean;
}

export interface FakeInstallation {
  readonly id: number;
  readonly appId: number;
  readonly account: FakeAccount;
  /** Null: all repositories of the account. */
  repositoryIds: readonly number[] | null;
  suspendedAt: string | null;
  permissions: Permissions;
}

export interface FakeRepository {
  readonly id: number;
  owner: FakeAccount;
  name: string;
  readonly isPrivate: boolean;
  defaultBranch: string;
  /** Name of the bare repository behind it, below the address of the git server. */
  readonly gitName: string;
  /** Paths of its files. */
  files: readonly string[];
  /** Content of some of them; the others are empty. */
  contents: Readonly<Record<string, string>>;
  branches: Readonly<Record<string, string>>;
  /** Paths that each pull request changes, by its number. */
  changedFiles: Readonly<Record<number, readonly string[]>>;
}

export interface FakeToken {
  readonly installationId: number;
  /** Null: all that the installation reaches. */
  readonly repositoryIds: readonly number[] | null;
  readonly permissions: Permissions;
  readonly expiresAt: number;
}

export interface OauthCode {
  readonly login: string;
  readonly appId: number;
  /** Parameters of the redirect that asked for it. */
  readonly asked?: { readonly redirectUri: string; readonly challenge: string };
}

/** A change that a client made. */
export interface Received {
  readonly operation: string;
  readonly repository: string;
  readonly id: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Attempt to deliver a webhook. A second attempt has the same guid. */
export interface FakeDelivery {
  readonly id: number;
  readonly appId: number;
  readonly guid: string;
  readonly event: string;
  readonly body: string;
  readonly deliveredAt: number;
  readonly isRedelivery: boolean;
  /** 0: there was no answer. */
  readonly statusCode: number;
}

/** Check run or commit status that another system reported. */
export interface FakeCheck {
  readonly kind: 'check_run' | 'status';
  readonly repositoryId: number;
  readonly commitHash: string;
  readonly name: string;
  /** Null: it has not ended. */
  conclusion: string | null;
}

export interface Faults {
  /** Every request gets 503. */
  down: boolean;
  /** The next requests get this limit. */
  rateLimit: { readonly kind: 'primary' | 'secondary'; remaining: number; readonly retryAfterSeconds: number } | null;
  /** The answer to so many changes from now is lost, after the change. Below 1: none. */
  answersUntilLost: number;
  /** Holds every answer back until the promise resolves. */
  hold: Promise<void> | null;
  /** Webhooks never arrive. */
  dropsWebhooks: boolean;
}

export interface FakeState {
  readonly accounts: FakeAccount[];
  readonly apps: FakeApp[];
  readonly installations: FakeInstallation[];
  readonly repositories: FakeRepository[];
  readonly tokens: Map<string, FakeToken>;
  readonly userTokens: Map<string, { readonly login: string; readonly appId: number }>;
  readonly manifestCodes: Map<string, number>;
  readonly oauthCodes: Map<string, OauthCode>;
  readonly received: Received[];
  readonly checks: FakeCheck[];
  /** Oldest first. */
  readonly deliveries: FakeDelivery[];
  /** Number of requests to the API. */
  requests: number;
  /** Requests that GitHub would refuse. A test expects none. */
  readonly problems: string[];
  readonly faults: Faults;
  /** Person in front of the browser. */
  person: string;
  now: () => number;
  nextId: number;
}

export function createState(now: () => number): FakeState {
  return {
    accounts: [],
    apps: [],
    installations: [],
    repositories: [],
    tokens: new Map(),
    userTokens: new Map(),
    manifestCodes: new Map(),
    oauthCodes: new Map(),
    received: [],
    checks: [],
    deliveries: [],
    requests: 0,
    problems: [],
    faults: { down: false, rateLimit: null, answersUntilLost: 0, hold: null, dropsWebhooks: false },
    person: 'ada',
    now,
    nextId: 1000,
  };
}

export function takeId(state: FakeState): number {
  state.nextId += 1;
  return state.nextId;
}

export function secretOf(prefix: string): string {
  return `${prefix}_${randomBytes(18).toString('hex')}`;
}

/** Key pair as GitHub makes it: PKCS#1 in PEM. */
export function makeKey(): { readonly pem: string; readonly publicKey: KeyObject } {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  return { pem, publicKey: createPublicKey(privateKey) };
}

export function fullNameOf({ owner, name }: FakeRepository): string {
  return `${owner.login}/${name}`;
}

export function reachOf(state: FakeState, installation: FakeInstallation): FakeRepository[] {
  return state.repositories.filter(
    ({ id, owner }) =>
      owner.id === installation.account.id &&
      (installation.repositoryIds === null || installation.repositoryIds.includes(id)),
  );
}
