// Tests of DNS providers against fakes that answer as their published APIs do, and hold the records that they are sent.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createDnsClient, type DnsCredentials, openDnsProvider } from './index.ts';
import { signRequest } from './signature-v4.ts';

interface Call {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface Reply {
  readonly status?: number;
  readonly body?: unknown;
}

let server: Server | undefined;
afterEach(() => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve()))));

/** Serves an API; returns its address and the calls that it got. */
async function serve(respond: (call: Call) => Reply): Promise<{ url: string; calls: Call[] }> {
  const calls: Call[] = [];
  const read = async (request: IncomingMessage) => {
    let body = '';
    for await (const part of request) body += String(part);
    return body;
  };
  server = createServer((request, response) => {
    void read(request).then((body) => {
      const call = { line: `${request.method} ${request.url}`, authorization: request.headers.authorization, body };
      calls.push(call);
      const { status = 200, body: reply = {} } = respond(call);
      response.writeHead(status, { location: 'http://127.0.0.1:1/' });
      response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

const mayCall = () => true;
const record = { zone: 'example.com', name: '_acme-challenge.shop.example.com', value: 'a-value' };
const open = (credentials: DnsCredentials, url: string) =>
  openDnsProvider(credentials, {
    mayCall,
    endpoints: { [credentials.kind]: url },
    now: () => new Date('2015-08-30T12:36:00Z'),
  });
const token = 'a-secret-token';

test('Cloudflare: a record is added once, and only the one with the value is removed', async () => {
  const stored = [{ id: 'other', name: record.name, content: '"another value"' }];
  const { url, calls } = await serve(({ line, body }) => {
    if (line === 'GET /zones?name=example.com') return { body: { result: [{ id: 'z1', name: 'example.com' }] } };
    if (line === 'POST /zones/z1/dns_records') {
      const wish = JSON.parse(body);
      if (stored.some(({ content }) => content === wish.content)) {
        return { status: 400, body: { errors: [{ code: 81058, message: 'An identical record already exists.' }] } };
      }
      stored.push({ id: 'r1', ...wish });
      return {};
    }
    if (line.startsWith('GET /zones/z1/dns_records?type=TXT')) return { body: { result: stored } };
    stored.splice(
      stored.findIndex(({ id }) => line === `DELETE /zones/z1/dns_records/${id}`),
      1,
    );
    return {};
  });
  const provider = open({ kind: 'cloudflare', token }, url);
  await provider.putTxt(record);
  await provider.putTxt(record);
  expect(calls.every(({ authorization }) => authorization === `Bearer ${token}`)).toBe(true);
  const sent = { type: 'TXT', name: record.name, content: '"a-value"', ttl: 60 };
  expect(JSON.parse(calls[1]?.body ?? '')).toEqual(sent);
  expect(stored).toHaveLength(2);
  await provider.removeTxt(record);
  expect(stored.map(({ id }) => id)).toEqual(['other']);
  await provider.removeTxt(record);
});

test('DigitalOcean: the name is sent within its zone, and a record is not stored twice', async () => {
  let stored: { id: number; data: string }[] = [];
  const { url, calls } = await serve(({ line, body }) => {
    if (line === 'GET /domains/example.com') return { body: { domain: { name: 'example.com' } } };
    if (line.startsWith('GET /domains/example.com/records?type=TXT&name=_acme-challenge.shop.example.com')) {
      return { body: { domain_records: stored } };
    }
    if (line === 'POST /domains/example.com/records') {
      stored.push({ id: 7, data: JSON.parse(body).data });
      return { status: 201 };
    }
    if (line !== 'DELETE /domains/example.com/records/7') return { status: 404 };
    stored = [];
    return { status: 204, body: '' };
  });
  const provider = open({ kind: 'digitalocean', token }, url);
  await provider.findZone('example.com');
  await provider.putTxt(record);
  await provider.putTxt(record);
  const posts = calls.filter(({ line }) => line.startsWith('POST'));
  expect(posts.map(({ body }) => JSON.parse(body))).toEqual([
    { type: 'TXT', name: '_acme-challenge.shop', data: 'a-value', ttl: 30 },
  ]);
  await provider.removeTxt(record);
  expect(stored).toEqual([]);
  await provider.removeTxt(record);
  await expect(provider.findZone('example.org')).rejects.toMatchObject({ code: 'zone_unknown' });
});

test('Hetzner: values are added to the record set of the Cloud API, in quotation marks', async () => {
  let values: { value: string }[] = [];
  const set = '/zones/example.com/rrsets/_acme-challenge.shop/TXT';
  const { url, calls } = await serve(({ line, body }) => {
    if (line === 'GET /zones?name=example.com') return { body: { zones: [{ id: 1, name: 'example.com' }] } };
    if (line === `GET ${set}`) {
      return values.length === 0 ? { status: 404 } : { body: { rrset: { records: values } } };
    }
    const { records } = JSON.parse(body) as { records: { value: string }[] };
    if (line === `POST ${set}/actions/add_records`) values.push(...records);
    else if (line === `POST ${set}/actions/remove_records`) {
      values = values.filter(({ value }) => !records.some((each) => each.value === value));
    } else return { status: 404 };
    return { status: 201, body: { action: { status: 'running' } } };
  });
  const provider = open({ kind: 'hetzner', token }, url);
  await provider.putTxt(record);
  await provider.putTxt(record);
  expect(values).toEqual([{ value: '"a-value"' }]);
  expect(calls[0]?.authorization).toBe(`Bearer ${token}`);
  await provider.removeTxt(record);
  await provider.removeTxt(record);
  expect(values).toEqual([]);
});

test('Route 53: other values of the name stay, and the signature covers the request', async () => {
  let values = ['"another &quot;value&quot;"'];
  const xml = (
    name: string,
  ) => `<ResourceRecordSets><ResourceRecordSet><Name>${name}</Name><Type>TXT</Type><TTL>300</TTL>
    <ResourceRecords>${values.map((value) => `<ResourceRecord><Value>${value}</Value></ResourceRecord>`).join('')}
    </ResourceRecords></ResourceRecordSet></ResourceRecordSets>`;
  const { url, calls } = await serve(({ line, body }) => {
    if (line.startsWith('GET /2013-04-01/hostedzonesbyname?dnsname=example.com')) {
      const zone = (id: string, isPrivate: boolean) =>
        `<HostedZone><Id>/hostedzone/${id}</Id><Name>example.com.</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`;
      return { body: `<HostedZones>${zone('ZPRIVATE', true)}${zone('ZPUBLIC', false)}</HostedZones>` };
    }
    if (line.startsWith('GET /2013-04-01/hostedzone/ZPUBLIC/rrset?name=')) {
      return { body: values.length === 0 ? xml('later.example.com.') : xml(`${record.name}.`) };
    }
    if (line !== 'POST /2013-04-01/hostedzone/ZPUBLIC/rrset/') return { status: 404 };
    const created = body.slice(body.indexOf('<Action>CREATE'));
    values = body.includes('<Action>CREATE')
      ? [...created.matchAll(/<Value>(.*?)<\/Value>/g)].map(([, value = '']) => value)
      : [];
    return { body: '<ChangeInfo/>' };
  });
  const provider = open({ kind: 'route53', accessKeyId: 'AKID', secretAccessKey: 'a-secret-key' }, url);
  await provider.putTxt(record);
  expect(values).toEqual(['&quot;another &quot;value&quot;&quot;', '&quot;a-value&quot;']);
  const before = calls.length;
  await provider.putTxt(record);
  expect(calls.slice(before).some(({ line }) => line.startsWith('POST'))).toBe(false);
  await provider.removeTxt(record);
  expect(values).toEqual(['&quot;another &quot;value&quot;&quot;']);
  for (const { authorization } of calls) {
    expect(authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/20150830\/us-east-1\/route53\/aws4_request, SignedHeaders=host;x-amz-date, Signature=[\da-f]{64}$/,
    );
  }
});

test('a signature is that of the published example', () => {
  // "get-vanilla" of AWS's test suite for Signature Version 4.
  const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
  const now = new Date('2015-08-30T12:36:00Z');
  const request = { method: 'GET', url: 'https://example.amazonaws.com/', body: '', service: 'service', now };
  expect(signRequest({ ...request, region: 'us-east-1' }, key).authorization).toContain(
    'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  );
});

describe('failures are values without a credential', () => {
  const change = (url: string, credentials: DnsCredentials = { kind: 'cloudflare', token }) =>
    createDnsClient({ mayCall, resolvers: [], endpoints: { cloudflare: url } }).change(credentials, 'put', record);

  test('a refused token, an unknown zone, a server that fails, and a redirect', async () => {
    let reply: Reply = { status: 403, body: { errors: [{ message: 'Invalid access token' }] } };
    const { url } = await serve(() => reply);
    const refused = await change(url);
    expect(refused).toMatchObject({ code: 'refused' });
    expect(refused?.message).toContain('“Invalid access token”');
    expect(refused?.message).not.toContain(token);
    reply = { body: { result: [] } };
    expect(await change(url)).toMatchObject({ code: 'zone_unknown' });
    reply = { status: 503 };
    expect(await change(url)).toMatchObject({ code: 'unreachable' });
    reply = { body: 'no json' };
    expect(await change(url)).toMatchObject({ code: 'unreachable' });
    reply = { status: 302 };
    expect(await change(url)).toMatchObject({ code: 'refused' });
  });

  test('a provider that is not there, and a name server with a private address', async () => {
    expect(await change('http://127.0.0.1:1')).toMatchObject({ code: 'unreachable' });
    const secret = createHmac('sha256', 'x').digest('base64');
    const client = createDnsClient({ mayCall: () => false, resolvers: [] });
    const credentials = {
      kind: 'rfc2136',
      server: '127.0.0.1',
      keyName: 'key',
      algorithm: 'hmac-sha256',
      secret,
    } as const;
    const failure = await client.change(credentials, 'put', record);
    expect(failure).toMatchObject({ code: 'refused' });
    expect(failure?.message).toContain('private address');
  });
});
