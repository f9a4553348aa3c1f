// Finds refused connections in the log of a deployment. Only a named host outside the package registries counts: a machine
// without internet refuses it, and no builder can help.

export interface Refusal {
  readonly host: string;
  /** Log line with the refusal. */
  readonly line: string;
}

/** Registries that a build may rely on. A failure there is never the environment's fault. */
const REGISTRIES = [
  'registry.npmjs.org',
  'registry.yarnpkg.com',
  'pypi.org',
  'files.pythonhosted.org',
  'crates.io',
  'index.crates.io',
  'static.crates.io',
  'proxy.golang.org',
  'sum.golang.org',
  'deb.debian.org',
];
/** Telemetry hosts, which builds do not need. */
const TELEMETRY = /(?:^|\.)(?:telemetry|analytics|stats|sentry)[.-]/;

/** Messages that contain the host. */
const NAMING = [
  /\b(?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)/,
  /Could not resolve host(?:name)?:? "?([\w.-]+)/i,
  /\blookup ([\w.-]+)(?: on [\d.:[\]a-f]+)?: (?:no such host|server misbehaving|i\/o timeout|Temporary failure)/,
  /Failed to resolve '([\w.-]+)'/,
  // The agent's own message about a runtime's publisher.
  /^Wanted .*; ([\w.-]+) can't be reached/,
  /host='([\w.-]+)'.*(?:Failed to establish|Max retries|timed out)/,
];
/** Messages without a host, which is in the same line or in one before. */
const REFUSED =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|Name or service not known|name resolution|failed to lookup address|dns error|error sending request|Connection refused|Network is unreachable|fetch failed|issue establishing a connection|unable to access|Import '[^']+' failed/i;
const ADDRESS = /\bhttps?:\/\/([\w.-]+)/g;
/** Node prints the host of a failed DNS lookup some lines below the code. */
const HOST_NAME = /^\s*hostname: '([\w.-]+)'/;
const NEAR_LINES = 5;

/** Returns the refused hosts, each once, with the first line that names it. */
export function refusedConnections(lines: readonly string[]): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const [at, line] of lines.entries()) {
    for (const host of hostsOf(lines, at)) {
      if (countsAsOutside(host) && !found.has(host)) found.set(host, { host, line: line.trim() });
    }
  }
  return [...found.values()];
}

function hostsOf(lines: readonly string[], at: number): readonly string[] {
  const line = lines[at] ?? '';
  const named = NAMING.flatMap((pattern) => pattern.exec(line)?.[1] ?? []);
  if (named.length > 0) return named;
  const before = lines.slice(Math.max(0, at - NEAR_LINES), at);
  const afterCode = HOST_NAME.exec(line)?.[1];
  if (afterCode !== undefined && before.some((text) => REFUSED.test(text))) return [afterCode];
  if (!REFUSED.test(line)) return [];
  const nearest = [line, ...before.reverse()].find((text) => text.match(ADDRESS) !== null);
  return [...(nearest?.matchAll(ADDRESS) ?? [])].flatMap(([, host]) => host ?? []);
}

function countsAsOutside(host: string): boolean {
  const isName = /^(?=.*[a-z])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i.test(host);
  const isLocal = /(?:^|\.)(?:localhost|local|internal|test|example)$/i.test(host);
  return isName && !isLocal && !TELEMETRY.test(host) && !REGISTRIES.includes(host.toLowerCase());
}
