// Child process that receives webhooks as the web process does, so that a check can kill it.
import { createServer } from 'node:http';
import { createRateLimit, createWebhooks, defaultCallLimits } from '@fairlead/api';
import { createSignedCookies } from '@fairlead/auth';
import { systemClock } from '@fairlead/core/kernel';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { silentLog } from '@fairlead/core/testing';
import { createDatabase } from '@fairlead/db';

// The URL has a password, so it is no argument.
const { DATABASE_URL: url = '', FAIRLEAD_MASTER_KEY_FILE: keyFile = '', INTAKE_PORT: port = '' } = process.env;
const database = createDatabase({ url, poolMax: 4, applicationName: 'intake' });
const webhooks = createWebhooks({
  database,
  secretKeys: createSecretKeys(await openMasterKeyFile(keyFile)),
  rateLimit: createRateLimit({
    limits: { ...defaultCallLimits, deliveries: 1e9 },
    database,
    secret: 'intake',
    cookies: createSignedCookies({ secret: 's'.repeat(48), baseUrl: 'https://fairlead.example.test' }),
  }),
  trustedProxies: [],
  clock: systemClock,
  log: silentLog,
});

const server = createServer(async (incoming, outgoing) => {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part);
  const request = new Request(`http://127.0.0.1${incoming.url}`, {
    method: 'POST',
    headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
    body: Buffer.concat(parts),
  });
  const response = await webhooks.answer(incoming.url?.split('/').at(-1) ?? '', request);
  outgoing.writeHead(response.status).end(await response.text());
});
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
