import { expect, test } from 'vitest';
import { isSameNetwork, isWithinNetwork } from './rules.ts';
import { settingsSchema } from './schema.ts';

const parse = (serverPorts: readonly string[]) => settingsSchema.safeParse({ serverPorts });
const sentenceOf = (port: string) =>
  parse([port])
    .error?.issues.map(({ message }) => message)
    .join();

test.each([
  ['5432', '127.0.0.1:5432'],
  [' 05432 ', '127.0.0.1:5432'],
  ['127.0.0.1:5432', '127.0.0.1:5432'],
  ['127.0.0.1:05432', '127.0.0.1:5432'],
  ['127.0.0.53:5353', '127.0.0.53:5353'],
  ['10.0.0.7:65535', '10.0.0.7:65535'],
  ['203.0.113.9:1', '203.0.113.9:1'],
  ['[::1]:5432', '[::1]:5432'],
  ['[0:0:0::1]:5432', '[::1]:5432'],
  ['[FD00:0::7]:80', '[fd00::7]:80'],
  ['168.63.129.17:80', '168.63.129.17:80'],
  ['[fd00:ec3::254]:80', '[fd00:ec3::254]:80'],
  ['[64:ff9b:2::1]:80', '[64:ff9b:2::1]:80'],
  ['[64:ff9b::1:0:0]:80', '[64:ff9b::1:0:0]:80'],
  ['[2003::1]:80', '[2003::1]:80'],
])('%s is the server port %s', (typed, stored) => {
  expect(parse([typed]).data?.serverPorts).toEqual([stored]);
  expect(parse([stored]).data?.serverPorts).toEqual([stored]);
});

test.each([
  ['', 'Enter an IP address and a port'],
  ['127.0.0.1', 'Enter an IP address and a port'],
  ['127.0.0.1:', 'Enter an IP address and a port'],
  ['127.1:80', 'Enter an IP address and a port'],
  ['127.0.0.256:80', 'Enter an IP address and a port'],
  ['0177.0.0.1:80', 'Enter an IP address and a port'],
  ['::1:80', 'Enter an IP address and a port'],
  ['[::1:80', 'Enter an IP address and a port'],
  ['[1::2::3]:80', 'Enter an IP address and a port'],
  ['tcp://127.0.0.1:80', 'Enter an IP address and a port'],
  ['localhost:5432', 'in place of the name'],
  ['db.internal', 'in place of the name'],
  ['0', 'from 1 to 65535'],
  ['127.0.0.1:0', 'from 1 to 65535'],
  ['127.0.0.1:65536', 'from 1 to 65535'],
  ['127.0.0.53:53', 'DNS resolver'],
  ['0.0.0.0:80', 'stand for all addresses'],
  ['[::]:80', 'stand for all addresses'],
  ['[0::0]:80', 'stand for all addresses'],
  ['169.254.169.254:80', 'Link-local'],
  ['[fe80::1]:80', 'Link-local'],
  ['[febf::1]:80', 'Link-local'],
  ['198.18.0.1:3000', '198.18.0.0/15'],
  ['198.19.255.255:3000', '198.18.0.0/15'],
  ['224.0.0.1:80', 'neither multicast nor broadcast'],
  ['255.255.255.255:80', 'neither multicast nor broadcast'],
  ['[ff02::1]:80', 'neither multicast nor broadcast'],
  ['168.63.129.16:80', 'is the metadata service of a cloud'],
  ['192.0.0.192:80', 'is the metadata service of a cloud'],
  ['100.100.100.200:80', 'is the metadata service of a cloud'],
  ['[fd00:ec2::254]:80', 'is the metadata service of a cloud'],
  ['[fd00:0ec2:1::]:80', 'is the metadata service of a cloud'],
  ['[fd20:ce::254]:80', 'is the metadata service of a cloud'],
  ['[fd00:42::42]:80', 'is the metadata service of a cloud'],
  ['[fd00:a9fe:a9fe::1]:80', 'is the metadata service of a cloud'],
  ['[fd00:c1::169.254.169.254]:80', 'is the metadata service of a cloud'],
  ['[fd00:100::100:200]:80', 'is the metadata service of a cloud'],
  ['[::ffff:169.254.169.254]:80', 'is an IPv4 address written as IPv6'],
  ['[::ffff:a9fe:a9fe]:80', 'is an IPv4 address written as IPv6'],
  ['[::ffff:0:7]:80', 'is an IPv4 address written as IPv6'],
  ['[::127.0.0.1]:80', 'is an IPv4 address written as IPv6'],
  ['[::2]:80', 'is an IPv4 address written as IPv6'],
  ['[64:ff9b::169.254.169.254]:80', 'is an IPv4 address written as IPv6'],
  ['[64:ff9b::7]:80', 'is an IPv4 address written as IPv6'],
  ['[64:ff9b::]:80', 'is an IPv4 address written as IPv6'],
  ['[64:ff9b:1:2::a9fe:a9fe]:80', 'is an IPv4 address written as IPv6'],
  ['[64:ff9b:1::]:80', 'is an IPv4 address written as IPv6'],
  ['[2002:a9fe:a9fe::1]:80', 'is an IPv4 address written as IPv6'],
  ['[2002::]:80', 'is an IPv4 address written as IPv6'],
])('%s is no server port: %s', (typed, why) => {
  expect(sentenceOf(typed)).toContain(why);
});

test('an app has at most 16 server ports and none twice', () => {
  const ports = Array.from({ length: 17 }, (_, at) => String(at + 1));
  expect(parse(ports.slice(0, 16)).success).toBe(true);
  expect(parse(ports).error?.issues[0]?.message).toBe('An app has at most 16 server ports.');
  const twice = parse(['5432', '[::1]:5432', '127.0.0.1:5432']).error?.issues;
  expect(twice).toMatchObject([{ path: ['serverPorts', 2], message: '127.0.0.1:5432 is in the list already.' }]);
});

test('settings without private network access and server ports open nothing', () => {
  const closed = settingsSchema.parse({});
  const ports = (...serverPorts: string[]) => settingsSchema.parse({ serverPorts });
  const open = settingsSchema.parse({ privateNetwork: true });
  expect([isWithinNetwork(closed, open), isWithinNetwork(open, closed)]).toEqual([true, false]);
  expect([isWithinNetwork(ports('1'), ports('2', '1')), isWithinNetwork(ports('1', '2'), ports('1'))]).toEqual([
    true,
    false,
  ]);
  expect(isWithinNetwork(ports('1'), open)).toBe(false);
  expect([isSameNetwork(ports('1', '2'), ports('2', '1')), isSameNetwork(ports('1'), closed)]).toEqual([true, false]);
});
