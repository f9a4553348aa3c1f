// Runs a gateway on a database of its own for this package's tests.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { type Log, type SystemCtx, systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore, type LogStore } from '@fairlead/core/log';
import { createSecretKeys, type SecretKeys } from '@fairlead/core/secret';
import { createEnrolment } from '@fairlead/core/server';
import { testWrapper } from '@fairlead/core/testing';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeAgent, type FakeAgent } from '@fairlead/testkit';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';

export interface TestGateway {
  readonly db: TestDatabase;
  readonly store: LogStore;
  readonly url: string;
  readonly httpUrl: string;
  readonly token: string;
  readonly rows: OrganizationRows;
  readonly secretKeys: SecretKeys;
  /** Warnings and errors that the gateway logged. */
  readonly complaints: string[];
  /** Creates an agent that holds the key of the organization's server. */
  knownAgent(rows?: OrganizationRows, clockOffsetMs?: number): Promise<FakeAgent>;
  mintEnrolment(name: string): Promise<{ readonly token: string; readonly enrolmentId: string }>;
  system<T>(work: (ctx: SystemCtx) => Promise<T>): Promise<T>;
  /** Stops the gateway and starts another one on the same database and folders. */
  restart(): Promise<void>;
  stopGateway(): Promise<void>;
  close(): Promise<void>;
}

export async function startTestGateway(change: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const db = await testDatabase({ poolMax: 6 });
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-gateway-'));
  const rows = await insertOrganizationRows(db.database, 'acme');
  const store = createFolderLogStore(join(dir, 'logs'));
  const complaints: string[] = [];
  const complain = (fields: object, message: string) => {
    complaints.push(
      `${message} ${JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    );
  };
  const log: Log = { debug: () => {}, info: () => {}, warn: complain, error: complain };
  const secretKeys = createSecretKeys(testWrapper());
  const token = 'internal-token-of-tests';
  const start = (port: number): Promise<Gateway> =>
    startGateway({
      database: db.database,
      store,
      artifacts: createFolderArtifactStore(join(dir, 'artifacts')),
      signingKeyDir: join(dir, 'keys'),
      secretKeys,
      internalToken: token,
      name: 'test-gateway',
      host: '127.0.0.1',
      port,
      controlHosts: [],
      httpsPort: 4443,
      httpPort: 4480,
      trustedProxies: [],
      log,
      ...change,
    });
  let gateway: Gateway | null = await start(0);
  const { port } = gateway;
  const url = `ws://127.0.0.1:${port}`;
  const stopGateway = async () => {
    await gateway?.stop();
    gateway = null;
  };

  return {
    db,
    store,
    url,
    httpUrl: `http://127.0.0.1:${port}`,
    token,
    rows,
    secretKeys,
    complaints,
    system: (work) => db.database.system('test', (tx) => work({ tx, clock: systemClock, log })),
    knownAgent: async (of = rows, clockOffsetMs = 0) => {
      const agent = createFakeAgent({ url, clockOffsetMs });
      await db.database.system('test', (tx) =>
        tx.server.update({ where: { id: of.serverId }, data: { publicKey: agent.publicKey } }),
      );
      return agent;
    },
    mintEnrolment: (name) => {
      const organizationId: OrganizationId = parseId('org', rows.organizationId);
      return db.database.tenant(organizationId, (tx) =>
        createEnrolment(
          { tx, organizationId, actor: { kind: 'system', reason: 'test' }, clock: systemClock, log },
          { name, isLocal: false },
        ),
      );
    },
    restart: async () => {
      await stopGateway();
      gateway = await start(port);
    },
    stopGateway,
    close: async () => {
      await stopGateway();
      await db.drop();
      await rm(dir, { recursive: true });
    },
  };
}
