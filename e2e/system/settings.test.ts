// Tests that each documented setting has its effect: two starts of the real product, one behind a public https address
// with every source of settings, one on a PostgreSQL of its own.
import { randomBytes, X509Certificate } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '@fairlead/db';
import { findRunning } from '@fairlead/db/embedded';
import { settingNames } from '@fairlead/settings';
import { startDnsServer, type TestDnsServer } from '@fairlead/testkit/dns-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup, type Dashboard, type Entrance, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { pidsListeningOn } from '../../tools/lib/listeners.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { type MailSink, startMailSink } from '../ui/mail-sink.ts';
import { type AcmeDirectory, startAcmeDirectory } from './harness/acme-directory.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import {
  commandLines,
  covered,
  effect,
  environmentOf,
  firstRefusal,
  mailWith,
  ORGANIZATION,
  waitReasonOfSecondBuild,
  writeSettings,
} from './harness/settings.ts';
import { acmeEffects } from './harness/settings-acme.ts';
import { describeOwnDatabase } from './harness/settings-own-database.ts';

const PUBLIC_URL = 'https://fairlead.example.com';
const AGENT_URL = 'https://agents.example.com';
const CLIENT = '203.0.113.7';

let folder: string;
let mail: MailSink;
let acme: AcmeDirectory;
let dns: TestDnsServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-settings-'));
  chmodSync(folder, 0o711);
  mail = await startMailSink();
  acme = await startAcmeDirectory(folder);
  dns = await startDnsServer();
});
afterAll(async () => {
  await mail?.close();
  await acme?.close();
  await dns?.close();
  rmSync(folder, { recursive: true });
});

describe('behind a public https address', () => {
  const macKey = randomBytes(32);
  let product: RunningProduct;
  let entrance: Entrance;
  let dashboard: Dashboard;
  let offered: string;

  beforeAll(async () => {
    offered = join(folder, 'offered-agent');
    copyFileSync(AGENT_BINARY, offered);
    // Another digest than that of the local agent.
    appendFileSync(offered, '\n');
    const key = join(folder, 'key');
    writeFileSync(key, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
    const macKeyFile = join(folder, 'eab-key');
    writeFileSync(macKeyFile, `${macKey.toString('base64url')}\n`, { mode: 0o600 });
    const ports = await freePorts();
    const file = writeSettings(folder, mail.url, ports);
    product = await startProduct({
      args: [
        '--settings',
        file,
        '--public-url',
        `${PUBLIC_URL}/`,
        '--behind-proxy',
        '--trusted-proxies',
        '10.0.0.0/8',
        '--web-host',
        '127.0.0.3',
      ],
      agent: AGENT_BINARY,
      data: join(folder, 'data'),
      ports,
      env: {
        FAIRLEAD_AGENT_URL: AGENT_URL,
        FAIRLEAD_MAIL_FROM: 'Fairlead <fairlead@example.test>',
        FAIRLEAD_AGENT_PROOF_SECONDS: '3',
        FAIRLEAD_ACME_DIRECTORY_URL: acme.url,
        FAIRLEAD_ACME_CA_FILE: acme.caFile,
        FAIRLEAD_ACME_EMAIL: 'certificates@example.test',
        FAIRLEAD_DNS_RESOLVERS: dns.address,
        FAIRLEAD_ACME_EAB_KEY_ID: 'a-key-id',
        FAIRLEAD_ACME_EAB_HMAC_KEY_FILE: macKeyFile,
      },
    });
    const url = `http://127.0.0.3:${ports.web}`;
    entrance = { url, origin: PUBLIC_URL, headers: { 'x-forwarded-for': `192.0.2.1, ${CLIENT}, 10.0.0.5` } };
    if (product.setupToken === undefined) throw new Error('the summary names no token');
    await claimSetup(entrance, product.setupToken, ADA);
    dashboard = await signIn(entrance, ADA);
  }, 600_000);
  afterAll(() => product?.stop());

  const logOf = (service: string) => readFileSync(join(folder, 'data/logs', `${service}.log`), 'utf8');
  const fetchFrom = (path: string, init: RequestInit = {}) =>
    fetch(`${entrance.url}${path}`, { ...init, headers: { ...entrance.headers, ...init.headers } });

  effect(['FAIRLEAD_PUBLIC_URL'], 'cookies are __Host- cookies, and browsers use https only', async () => {
    const response = await fetchFrom('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: PUBLIC_URL },
      body: JSON.stringify({ email: ADA.email, password: ADA.password }),
    });
    const cookies = response.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie).toMatch(/^__Host-fairlead.*; Secure/);
    const page = await fetchFrom('/sign-in');
    expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect(product.summary).toContain(`${PUBLIC_URL}/setup#token=`);
    expect(product.summary).not.toContain('Warning');
    const foreign = await fetchFrom('/api/trpc/setup.claim', { method: 'POST', headers: { origin: entrance.url } });
    expect(foreign.status).toBe(403);
  });

  effect(['FAIRLEAD_SMTP_URL', 'FAIRLEAD_MAIL_FROM'], 'mails have links to the public URL', async () => {
    await dashboard.call('invitation.create', { role: 'admin', email: 'eve@example.test' }, ORGANIZATION);
    const text = await mailWith(mail.folder, 'eve@example.test');
    expect(text).toContain('From: Fairlead <fairlead@example.test>');
    expect(text.replaceAll('=\r\n', '').replaceAll('=3D', '=')).toContain(`${PUBLIC_URL}/invitation#token=`);
    const { web, worker, gateway } = product.processes();
    expect([web, worker, gateway].map((pid) => environmentOf(pid).includes(`FAIRLEAD_SMTP_URL=${mail.url}`))).toEqual([
      true,
      true,
      false,
    ]);
    expect(commandLines()).not.toContain(mail.url);
  });

  acmeEffects({ acme: () => acme, macKey, dashboard: () => dashboard });

  effect(
    ['FAIRLEAD_DNS_RESOLVERS'],
    'the records of domains are looked up at the DNS servers of the settings',
    async () => {
      dns.set('looked-up.example.test', [{ type: 'A', value: '192.0.2.80' }]);
      const { id: appId } = await dashboard.query<{ id: string }>('app.get', ORGANIZATION, { slug: 'hello' });
      const attached = { appId, host: 'looked-up.example.test' };
      const { id: domainId } = await dashboard.call<{ id: string }>('domain.attach', attached, ORGANIZATION);
      const found = async () => {
        const host = await dashboard.query<{ found: { addresses: string[] } | null }>('host.get', ORGANIZATION, {
          domainId,
        });
        return host.found?.addresses;
      };
      expect(await waitFor(found, { what: 'a check', timeoutMs: 60_000 })).toEqual(['192.0.2.80']);
    },
  );

  effect(
    ['FAIRLEAD_AGENT_URL', 'FAIRLEAD_AGENT_BINARY'],
    'the install command leads to the public addresses',
    async () => {
      const { command } = await dashboard.call<{ command: string }>('server.enrol', { name: 'edge' }, ORGANIZATION);
      expect(command).toContain(`${PUBLIC_URL}/install/agent.sh`);
      const script = await (await fetchFrom('/install/agent.sh')).text();
      expect(script).toContain(AGENT_URL);
      expect(script).not.toContain('file.example.com');
      const target = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';
      const binary = await fetchFrom(`/install/agent/${target}`);
      expect(Buffer.from(await binary.arrayBuffer()).equals(readFileSync(offered))).toBe(true);
    },
  );

  effect(
    ['FAIRLEAD_BEHIND_PROXY', 'FAIRLEAD_PUBLIC_CA_FILE'],
    "the local agent's proxy stays on loopback, and new servers pin the authority of the reverse proxy",
    async () => {
      const authority = new X509Certificate(readFileSync(product.caFile)).toString();
      expect(await (await fetchFrom('/install/ca.pem')).text()).toBe(authority);
      expect(await (await fetchFrom('/install/agent.sh')).text()).toContain(authority.trim());
      const open = (address: string) => fetch(`http://${address}:${product.ports.http}/`, { redirect: 'manual' });
      expect((await open('127.0.0.1')).status).toBeLessThan(500);
      await expect(open('127.0.0.2')).rejects.toThrow('fetch failed');
      expect(product.summary).not.toContain('Authority');
    },
  );

  effect(['FAIRLEAD_TRUSTED_PROXIES'], 'the client behind the proxies is known everywhere', async () => {
    const { items: events } = await dashboard.query<{ items: { ip: string | null; actor: { kind: string } }[] }>(
      'audit.list',
      ORGANIZATION,
      {},
    );
    const byMembers = events.filter(({ actor }) => actor.kind === 'member');
    expect(new Set(byMembers.map(({ ip }) => ip))).toEqual(new Set([CLIENT]));
    const { items: sessions } = await dashboard.query<{ items: { ip: string | null }[] }>('account.listSessions');
    expect(new Set(sessions.map(({ ip }) => ip))).toEqual(new Set([CLIENT]));
    const { token } = await createToken('office', [`${CLIENT}/32`]);
    expect(await statusWith(token, CLIENT)).toBe(200);
    expect(await statusWith(token, '203.0.113.8')).toBe(403);
    const stranger = (ip: string) =>
      fetch(`${entrance.url}/api/trpc/setup.status`, { headers: { 'x-forwarded-for': ip } }).then(
        ({ status }) => status,
      );
    expect(await firstRefusal(() => stranger('198.51.100.1'), 1300)).toBe(429);
    expect(await stranger('198.51.100.2')).toBe(200);
  });

  effect(['FAIRLEAD_CALLS_PER_MINUTE'], 'a token has its calls a minute', async () => {
    const { token } = await createToken('hasty', []);
    expect(await firstRefusal(() => statusWith(token, CLIENT), 900)).toBe(429);
  });

  effect(['FAIRLEAD_FREE_DISK_MIB'], 'uploads and logs leave that much of the disk free', async () => {
    type State = { storage: { disks: { reserveBytes: number }[] } };
    const { storage } = await dashboard.query<State>('controlPlane.get', ORGANIZATION);
    expect(storage.disks[0]?.reserveBytes).toBe(100 * 1024 ** 2);
  });

  effect(['FAIRLEAD_ARTIFACT_STORE_DIR'], 'dashboard and gateway share the folder of artifacts', async () => {
    const server = async () => {
      const { items } = await dashboard.query<{ items: { id: string; upgrade: { state: string } | null }[] }>(
        'server.list',
        ORGANIZATION,
      );
      const [local] = items;
      if (local === undefined) throw new Error('no server');
      return local;
    };
    await dashboard.call('server.upgrade', { serverId: (await server()).id }, ORGANIZATION);
    const upgrade = await waitFor(
      async () => {
        const { upgrade: seen } = await server();
        return seen === null || seen.state === 'running' ? undefined : seen;
      },
      { what: 'the end of the upgrade', timeoutMs: 120_000, everyMs: 1000 },
    );
    expect(upgrade).toMatchObject({ state: 'succeeded' });
    const files = readdirSync(join(folder, 'artifacts'), { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size)).toContain(
      statSync(offered).size,
    );
    expect(existsSync(join(folder, 'data/log-store/artifacts'))).toBe(false);
  });

  effect(['FAIRLEAD_CONTROL_HOST', 'FAIRLEAD_HTTPS_PORT'], "the local agent's proxy serves the dashboard", async () => {
    const { ports, caFile } = product;
    const answer = await requestPinned({ host: 'panel.localhost', port: ports.https, path: '/sign-in', caFile });
    expect(answer.status).toBe(200);
    expect(product.summary).toContain(`https://panel.localhost:${ports.https} `);
  });

  effect(['FAIRLEAD_MASTER_KEY_FILE', 'FAIRLEAD_DATA_DIR'], 'data and the key are where the file says', async () => {
    expect(existsSync(join(folder, 'data/secrets/auth-secret'))).toBe(true);
    expect(existsSync(join(folder, 'data/secrets/master-key'))).toBe(false);
    const { web, worker, gateway } = product.processes();
    for (const pid of [web, worker, gateway])
      expect(environmentOf(pid)).toContain(`FAIRLEAD_MASTER_KEY_FILE=${join(folder, 'key')}`);
  });

  effect(['FAIRLEAD_OUTBOUND_ALLOW'], 'the dashboard calls the allowed network', async () => {
    const branches = (host: string) =>
      dashboard.query('source.branches', ORGANIZATION, { repositoryUrl: `https://${host}:9/private.git` });
    await expect(branches('127.0.0.1')).rejects.toThrow('source.unreachable');
    await expect(branches('127.0.0.2')).rejects.toThrow('source.address_refused');
  });

  effect(['FAIRLEAD_GITHUB_SIGN_IN_APP'], 'an app that is not connected signs nobody in', async () => {
    expect(environmentOf(product.processes().web)).toContain('FAIRLEAD_GITHUB_SIGN_IN_APP=gha_notconnected');
    expect(await dashboard.query('account.signInWays')).toEqual({ github: false });
  });

  effect(['FAIRLEAD_SECURITY_CONTACT'], 'security.txt names the contact', async () => {
    const text = await (await fetchFrom('/.well-known/security.txt')).text();
    expect(text).toContain('Contact: mailto:security@example.com');
    expect(text).toContain(`${PUBLIC_URL}/.well-known/security.txt`);
  });

  effect(['LOG_LEVEL'], 'debug lines are in the log', async () => {
    expect(logOf('worker')).toContain('"level":20');
  });

  effect(
    [
      'FAIRLEAD_WEB_HOST',
      'FAIRLEAD_GATEWAY_HOST',
      'FAIRLEAD_WEB_PORT',
      'FAIRLEAD_GATEWAY_PORT',
      'FAIRLEAD_SOURCE_PORT',
      'FAIRLEAD_HTTP_PORT',
    ],
    'each process listens on its address and port',
    async () => {
      const { ports, caFile } = product;
      const statusOf = (host: string, port: number, path: string) =>
        fetch(`http://${host}:${port}${path}`, { redirect: 'manual' }).then(
          ({ status }) => status,
          () => 'refused',
        );
      expect(await statusOf('127.0.0.3', ports.web, '/healthz')).toBe(200);
      expect(await statusOf('127.0.0.1', ports.web, '/healthz')).toBe('refused');
      expect(await statusOf('127.0.0.2', ports.gateway, '/healthz')).toBe(200);
      expect(await statusOf('127.0.0.1', ports.gateway, '/healthz')).toBe('refused');
      expect(pidsListeningOn(ports.http).length).toBeGreaterThan(0);
      const { repositoryUrl } = await dashboard.query<{ repositoryUrl: string }>('app.get', ORGANIZATION, {
        slug: 'hello',
      });
      expect(repositoryUrl).toContain(`:${ports.source}/`);
      expect(existsSync(caFile)).toBe(true);
    },
  );

  effect(
    [
      'FAIRLEAD_DATABASE_PORT',
      'FAIRLEAD_WEB_POOL',
      'FAIRLEAD_GATEWAY_POOL',
      'FAIRLEAD_WORKER_POOL',
      'FAIRLEAD_WORKER_JOBS',
    ],
    'no process opens more database connections than its pool has',
    async () => {
      const url = await findRunning(join(folder, 'data/postgres'));
      expect(url).toContain(`:${product.ports.database}/`);
      await Promise.all(Array.from({ length: 20 }, () => dashboard.query('app.list', ORGANIZATION, {})));
      const database = createDatabase({ url: url ?? '', poolMax: 1, applicationName: 'test' });
      const rows = await database.system(
        'count connections',
        (tx) =>
          tx.$queryRaw<{ name: string; connections: number }[]>`
          SELECT application_name AS "name", count(*)::int AS "connections" FROM pg_stat_activity GROUP BY 1`,
      );
      await database.close();
      const count = Object.fromEntries(rows.map(({ name, connections }) => [name, connections]));
      expect(count['fairlead-web']).toBe(2);
      expect(count['fairlead-gateway']).toBeLessThanOrEqual(4);
      expect(count['fairlead-worker']).toBeLessThanOrEqual(5);
      expect(logOf('gateway')).toContain('"pool":4');
      expect(logOf('worker')).toContain('"jobs":2,"pool":5,"msg":"ready"');
    },
  );

  effect(['FAIRLEAD_BUILDS_PER_SERVER'], 'a server has one build slot', async () => {
    expect(await waitReasonOfSecondBuild(dashboard)).toBe('queued: 1 build ahead: first #1.');
  });

  async function createToken(name: string, ipRanges: readonly string[]): Promise<{ token: string }> {
    return dashboard.call<{ token: string }>(
      'token.create',
      { name, permissions: ['app.read'], ipRanges },
      ORGANIZATION,
    );
  }

  function statusWith(token: string, ip: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': ip };
    return fetch(`${entrance.url}/api/v1/app/list`, { headers }).then(({ status }) => status);
  }
});

describeOwnDatabase(() => ({ folder, mail }));

test('a wrong setting ends the start in one line that names the file and the key, never the value', async () => {
  const file = join(folder, 'wrong.toml');
  const start = async (text: string, mode: number) => {
    writeFileSync(file, text);
    chmodSync(file, mode);
    const args = [join(ROOT, 'tools/start.mjs'), '--settings', file, '--agent', AGENT_BINARY];
    const { code, output } = await run(nodeOf(ROOT), args);
    expect(output).not.toContain('hunter2');
    return [code, output];
  };
  expect(await start('publik_url = "hunter2"\n', 0o600)).toEqual([
    1,
    `fairlead: ${file}: publik_url is not a setting: docs/settings.md lists all settings\n`,
  ]);
  expect(await start('[ports]\nweb = "hunter2"\n', 0o600)).toEqual([
    1,
    `fairlead: ${file}: ports.web must be a whole number from 1 to 65535, as a TOML integer\n`,
  ]);
  expect(await start('[mail]\nsmtp_url = "smtp://ada:hunter2@mail.example.com"\n', 0o644)).toEqual([
    1,
    `fairlead: ${file}: mail.smtp_url is a secret, and every user of this machine may open the file: chmod o= ${file}\n`,
  ]);
});

test('every documented setting has a test of its effect', () => {
  expect([...covered].sort()).toEqual([...settingNames].sort());
});
