// Port of a server that an app may reach, as "address:port". Pure; agents refuse the same addresses (crate wire).

export const serverPortsMax = 16;

/** Normalizes a port: `5432` becomes `127.0.0.1:5432`, and equal addresses get equal texts. Returns other text as it is. */
export function normalizeServerPort(text: string): string {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return `127.0.0.1:${Number(trimmed)}`;
  const parts = split(trimmed);
  return parts === null ? trimmed : `${parts.host}:${parts.port}`;
}

/** Returns why the app cannot have this port, as a sentence; null when it can. Takes normalized text. */
export function serverPortProblem(text: string): string | null {
  const parts = split(text);
  if (parts === null) {
    return /^[^[\]:]*[a-z][^[\]:]*(:\d*)?$/i.test(text)
      ? 'Enter an IP address in place of the name, such as 127.0.0.1:5432.'
      : 'Enter an IP address and a port, such as 127.0.0.1:5432 or [::1]:5432.';
  }
  const { host, port } = parts;
  if (port < 1 || port > 65_535) return 'Enter a port from 1 to 65535.';
  if (host === '127.0.0.53' && port === 53) return 'The app has its own DNS resolver at 127.0.0.53:53.';
  return host.startsWith('[') ? problemOfV6(host.slice(1, -1)) : problemOfV4(host);
}

function problemOfV4(host: string): string | null {
  const [first = 0, second = 0] = host.split('.').map(Number);
  if (first === 0) return wildcard;
  if (first === 169 && second === 254) return linkLocal;
  if (metadataServices.has(host)) return metadata;
  if (first === 198 && (second === 18 || second === 19)) return 'Apps have the addresses 198.18.0.0/15 themselves.';
  return first >= 224 ? notUnicast : null;
}

function problemOfV6(host: string): string | null {
  if (host === '::') return wildcard;
  if (host === '::1') return null;
  if (/^fe[89ab]/.test(host)) return linkLocal;
  if (host.startsWith('ff')) return notUnicast;
  if (host.startsWith('fd00:ec2:') || metadataServices.has(host)) return metadata;
  return disguisedV4.test(host) ? 'This is an IPv4 address written as IPv6. Write it as IPv4, such as 10.0.0.7.' : null;
}

const wildcard = 'Enter the address that the service listens on: 0.0.0.0 and :: stand for all addresses.';
const linkLocal = 'Link-local addresses, such as that of a cloud’s metadata service, cannot be opened.';
const metadata = 'This is the metadata service of a cloud, which cannot be opened.';
const notUnicast = 'Enter the address of one host, neither multicast nor broadcast.';

/** Azure, Oracle and Alibaba, then the IPv6 addresses of others. EC2 has fd00:ec2::/32. */
const metadataServices: ReadonlySet<string> = new Set([
  '168.63.129.16',
  '192.0.0.192',
  '100.100.100.200',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:a9fe:a9fe::1',
  'fd00:c1::a9fe:a9fe',
  'fd00:100::100:200',
]);

/** ::/96, ::ffff:0:0/96, 64:ff9b::/96 (RFC 6052), 64:ff9b:1::/48 (RFC 8215) and 2002::/16 (RFC 3056), in the shortest form. */
const disguisedV4 = /^(?:(?:::|::ffff:|64:ff9b::)(?:[\da-f]{1,4}(?::[\da-f]{1,4})?)?$|64:ff9b:1:|2002:)/;

function split(text: string): { readonly host: string; readonly port: number } | null {
  const [, v4, v6, port] = /^(?:(\d{1,3}(?:\.\d{1,3}){3})|\[([\da-f:.]+)\]):(\d{1,6})$/i.exec(text) ?? [];
  if (port === undefined) return null;
  const host = v6 === undefined ? plainV4(v4 ?? '') : plainV6(v6);
  return host === null ? null : { host, port: Number(port) };
}

function plainV4(text: string): string | null {
  const parts = text.split('.');
  // A leading zero means octal to some programs.
  return parts.every((part) => Number(part) <= 255 && String(Number(part)) === part) ? text : null;
}

/** Shortest form of the address, in brackets. */
function plainV6(text: string): string | null {
  const url = `http://[${text}]/`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}
