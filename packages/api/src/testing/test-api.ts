// Test API on a database of its own: real auth, real operations, and a live source that tests feed.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { type AuthOptions, createAuth, createSignedCookies } from '@fairlead/auth';
import type { InspectQuery } from '@fairlead/contract/inspection';
import type { LiveEvent } from '@fairlead/contract/live';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { createFolderLogStore } from '@fairlead/core/log';
import type { AgentOffer } from '@fairlead/core/server';
import { rotateSetupToken } from '@fairlead/core/setup';
import { silentLog, type TestWorld, testWorld } from '@fairlead/core/testing';
import type { TestDatabase } from '@fairlead/db/testing/cluster';
import { createGithub } from '@fairlead/github';
import { createOutbound, type Outbound } from '@fairlead/outbound';
import type { ApiParts } from '../context.ts';
import { createGithubIdentity } from '../github-identity.ts';
import { createCaller, createContext } from '../index.ts';
import type { LiveSource, LiveSubscription } from '../live-source.ts';
import { createOpenStreams } from '../open-streams.ts';
import { createRateLimit } from '../rate-limit.ts';

export const origin = 'https://fairlead.example.test';

export interface TestApi {
  readonly db: TestDatabase;
  readonly world: TestWorld;
  readonly parts: ApiParts;
  readonly authOptions: AuthOptions;
  readonly live: FedLiveSource;
  /** Objects that were logged as errors. */
  readonly errors: object[];
  /** Procedures as this cookie's owner would call them. */
  caller(
    cookie?: string,
    organizationSlug?: string | null,
    headers?: Readonly<Record<string, string>>,
  ): ReturnType<typeof createCaller>;
  /** Procedures as this API token's owner would call them. */
  tokenCaller(token: string, headers?: Readonly<Record<string, string>>): ReturnType<typeof createCaller>;
  /** A new account's cookie; with a role it is a member of the world's organization. */
  signUp(name: string, role: string | null): Promise<{ cookie: string; userId: string }>;
  /** The cookie of a further session. */
  signIn(name: string): Promise<string>;
  setupToken(): Promise<string | null>;
  close(): Promise<void>;
}

export interface FedLiveSource extends LiveSource {
  readonly subscriptions: LiveSubscription[];
  push(event: LiveEvent): void;
  /** Callback for each new subscription. */
  onSubscribe: (() => void) | null;
  /** Inspections that were requested from servers. */
  readonly inspected: InspectQuery[];
}

const advertisement = {
  status: 200,
  contentType: 'application/x-git-upload-pack-advertisement',
  headers: {},
  body: Buffer.from('001e# service=git-upload-pack\n00000000'),
};

/** Fake internet: one git repository without a branch, for calls that must work without a network. */
export const emptyRepository: Outbound = {
  get: () => Promise.resolve(advertisement),
  send: () => Promise.resolve(advertisement),
};

const agentProgram = Buffer.from('another agent');

/** Agent that this control plane offers to servers. */
export const testAgent: AgentOffer = {
  target: 'linux-x64',
  version: '9.9.9',
  digest: `sha256:${createHash('sha256').update(agentProgram).digest('hex')}`,
  sizeBytes: agentProgram.length,
  signature: '',
};

const password = 'correct horse battery';

/** Takes the database: it is dropped with the API. */
export async function startApi(db: TestDatabase): Promise<TestApi> {
  const world = await testWorld(db.database);
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-api-'));
  const errors: object[] = [];
  const live = createFedLiveSource();
  // For the fake GitHub of a test.
  const github = createGithub({ outbound: createOutbound({ allowed: ['127.0.0.1'] }), now: () => new Date() });
  const authOptions: AuthOptions = {
    identity: db.database,
    secret: 's'.repeat(48),
    baseUrl: origin,
    trustedOrigins: [origin],
    trustedProxies: [],
    github: createGithubIdentity({
      database: db.database,
      github,
      secretKeys: world.keys,
      signInAppId: null,
      clock: world.clock,
      log: silentLog,
    }),
    mail: null,
    onFailure: (error) => errors.push({ error }),
  };
  const parts: ApiParts = {
    database: db.database,
    auth: createAuth(authOptions),
    live,
    streams: createOpenStreams({ database: db.database, log: silentLog }),
    logs: createFolderLogStore(dir),
    artifacts: createFolderArtifactStore(join(dir, 'artifacts')),
    outbound: createOutbound({ allowed: [] }),
    github,
    dns: { change: () => Promise.resolve(null), isShown: () => Promise.resolve(true) },
    mail: null,
    secretKeys: world.keys,
    // Disabled here, because the limit has tests of its own.
    rateLimit: createRateLimit({
      limits: {
        known: 1e9,
        signed: 1e9,
        address: 1e9,
        addressless: 1e9,
        inspections: 1e9,
        testMails: 3,
        deliveries: 1e9,
      },
      database: db.database,
      secret: authOptions.secret,
      cookies: createSignedCookies(authOptions),
    }),
    config: {
      publicUrl: origin,
      origins: [origin, 'https://panel.example.test'],
      localHttpsPort: 4443,
      localHttpPort: 4480,
      buildSlots: defaultBuildSlots,
      trustedProxies: ['10.0.0.0/8'],
      controlHost: 'fairlead.localhost',
      acmeDirectoryUrl: 'https://authority.example.test/directory',
      publicHost: new URL(origin).hostname,
      agentOffers: { list: async () => [testAgent], read: () => Readable.from([agentProgram]) },
      packTemplate: (template) => Readable.from([gzipSync(template)]),
      dashboard: {
        reach: 'served',
        settingsUrl: origin,
        httpsPort: 4443,
      },
      controlPlane: {
        addresses: {
          publicUrl: origin,
          agentUrl: origin,
          webListen: '127.0.0.1:4400',
          gatewayListen: '127.0.0.1:4401',
          trustedProxies: ['10.0.0.0/8'],
        },
        mail: null,
        version: '0.1.0',
        backups: { folder: join(dir, 'backups'), schedule: null, keep: 14 },
        updates: {
          current: '0.1.0',
          feed: null,
          readFeedFile: null,
          publicKeys: [],
          updaterFolder: null,
        },
        freeBytesMin: 0,
        folders: [dir],
      },
      agentDownload: () =>
        Promise.resolve({ url: `${origin}/install/agent.sh`, sha256: 'ab'.repeat(32), caFingerprint: null }),
    },
    clock: world.clock,
    log: { ...silentLog, error: (fields) => errors.push(fields) },
  };

  async function cookieOf(email: string): Promise<string> {
    const response = await parts.auth.handler(
      new Request(`${origin}/api/auth/sign-in/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ email, password }),
      }),
    );
    return response.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  }

  return {
    db,
    world,
    parts,
    authOptions,
    live,
    errors,
    caller: (cookie, organizationSlug = world.organizationSlug, headers = {}) =>
      createCaller(
        createContext(parts, {
          headers: new Headers({ ...headers, ...(cookie === undefined ? {} : { cookie }) }),
          organizationSlug,
        }),
      ),
    tokenCaller: (token, headers = {}) =>
      createCaller(
        createContext(parts, {
          headers: new Headers({ ...headers, authorization: `Bearer ${token}` }),
          organizationSlug: null,
        }),
      ),
    signUp: async (name, role) => {
      const email = emailOf(name);
      const { userId } = await parts.auth.createAccount({ name, email, password });
      if (role !== null) {
        await world.system(({ tx }) =>
          tx.member.create({ data: { id: `mem_${name}`, organizationId: world.organizationId, userId, role } }),
        );
      }
      return { cookie: await cookieOf(email), userId };
    },
    signIn: (name) => cookieOf(emailOf(name)),
    setupToken: () => world.system((ctx) => rotateSetupToken(ctx, { organizationId: world.organizationId })),
    close: async () => {
      await db.drop();
      await rm(dir, { recursive: true });
    },
  };
}

function emailOf(name: string): string {
  return `${name.toLowerCase()}@example.test`;
}

function createFedLiveSource(): FedLiveSource {
  const subscriptions: LiveSubscription[] = [];
  const inspected: InspectQuery[] = [];
  const waiting = new Set<() => void>();
  const queue: LiveEvent[] = [];
  const source: FedLiveSource = {
    subscriptions,
    onSubscribe: null,
    push: (event) => {
      queue.push(event);
      for (const wake of waiting) wake();
    },
    subscribe: async function* (subscription) {
      subscriptions.push(subscription);
      source.onSubscribe?.();
      const { signal } = subscription;
      while (!signal.aborted) {
        const event = queue.shift();
        if (event !== undefined) yield event;
        else await changeOrEnd(waiting, signal);
      }
    },
    inspected,
    inspect: async (query) => {
      inspected.push(query);
      return { kind: 'failed', code: 'build.not_detected', sentence: 'Nothing is here.', appFolders: ['web'] };
    },
    searchLogs: async function* ({ organizationId, serverIds, follow }, signal) {
      subscriptions.push({ organizationId, topics: [], signal });
      source.onSubscribe?.();
      for (const serverId of serverIds) yield { serverId, lines: [], done: !follow, more: false, failure: null };
      while (follow && !signal.aborted) await changeOrEnd(waiting, signal);
    },
  };
  return source;
}

async function changeOrEnd(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.add(resolve);
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  waiting.delete(resolve);
}
