// Sections and fields of an app's settings, for navigation, search and the names of changes. Pure.

export const settingsSections = [
  { id: 'general', title: 'General' },
  { id: 'source', title: 'Source & build' },
  { id: 'runtime', title: 'Runtime' },
  { id: 'scaling', title: 'Scaling' },
  { id: 'health', title: 'Health checks' },
  { id: 'traffic', title: 'Traffic' },
  { id: 'deploys', title: 'Deploys' },
  { id: 'servers', title: 'Servers' },
  { id: 'access', title: 'Access' },
  { id: 'danger', title: 'Danger zone' },
] as const;

export type SettingsSection = (typeof settingsSections)[number]['id'];

/** `now`: servers apply it when it is saved. `deployment`: the next deployment applies it. */
export type SettingEffect = 'now' | 'deployment';

export interface SettingField {
  readonly section: SettingsSection;
  readonly label: string;
  /** Other words that people search for. */
  readonly keywords?: string;
  /** Label of the field that shows this one, for a field that is hidden without it. */
  readonly within?: string;
  /** Path in the settings, with `app.` for a field of the app itself. Absent for what is saved by its own button. */
  readonly path?: string;
  readonly effect?: SettingEffect;
}

export const settingFields: readonly SettingField[] = [
  { section: 'general', label: 'Name', keywords: 'rename', path: 'app.name', effect: 'now' },
  { section: 'general', label: 'Project', keywords: 'move' },
  { section: 'general', label: 'Versions', keywords: 'history' },
  { section: 'source', label: 'Git repository', keywords: 'url clone source', path: 'app.repositoryUrl' },
  { section: 'source', label: 'Branch', keywords: 'ref git', path: 'app.branch', effect: 'now' },
  { section: 'source', label: 'Root folder', keywords: 'monorepo directory', path: 'app.rootFolder' },
  { section: 'source', label: 'GitHub', keywords: 'repository connect' },
  { section: 'source', label: 'Source credentials', keywords: 'deploy key ssh password registry private' },
  { section: 'source', label: 'Builder', keywords: 'dockerfile buildpack native image', path: 'builder' },
  { section: 'source', label: 'Image', keywords: 'docker container registry', path: 'image', within: 'Builder' },
  { section: 'source', label: 'Dockerfile', keywords: 'docker container', path: 'dockerfile', within: 'Builder' },
  { section: 'source', label: 'Install command', keywords: 'npm', path: 'installCommand', within: 'Builder' },
  { section: 'source', label: 'Build command', keywords: 'npm run build', path: 'buildCommand', within: 'Builder' },
  { section: 'source', label: 'Output folder', keywords: 'static dist', path: 'outputFolder', within: 'Builder' },
  { section: 'source', label: 'Build timeout', path: 'buildTimeoutMs', within: 'Builder' },
  { section: 'source', label: 'Build server', path: 'buildServerId', within: 'Builder' },
  { section: 'runtime', label: 'Start command', keywords: 'run entrypoint', path: 'startCommand' },
  { section: 'runtime', label: 'Default start command', path: 'app.command' },
  { section: 'runtime', label: 'Listens on', keywords: 'port socket', path: 'listen' },
  { section: 'runtime', label: 'Memory', keywords: 'ram limit', path: 'memoryBytesMax' },
  { section: 'runtime', label: 'CPU', keywords: 'cores limit', path: 'cpuMillisMax' },
  { section: 'runtime', label: 'Processes and threads', keywords: 'pids limit', path: 'processesMax' },
  { section: 'runtime', label: 'Drain timeout', keywords: 'graceful shutdown', path: 'drainTimeoutMs' },
  { section: 'runtime', label: 'Stop timeout', keywords: 'sigterm sigkill graceful', path: 'stopTimeoutMs' },
  { section: 'runtime', label: 'Workers', keywords: 'background process queue', path: 'workers' },
  { section: 'runtime', label: 'Private network access', keywords: 'vpn', path: 'privateNetwork' },
  { section: 'runtime', label: 'Server ports', keywords: 'loopback database localhost', path: 'serverPorts' },
  { section: 'scaling', label: 'Instances', keywords: 'replicas count', path: 'app.instances', effect: 'now' },
  {
    section: 'scaling',
    label: 'Autoscaling',
    keywords: 'scale to zero sleep load replicas',
    path: 'autoscaling',
    effect: 'now',
  },
  { section: 'scaling', label: 'Min instances', keywords: 'sleep scale to zero', within: 'Autoscaling' },
  { section: 'scaling', label: 'Max instances', within: 'Autoscaling' },
  { section: 'scaling', label: 'In-flight target', keywords: 'concurrency', within: 'Autoscaling' },
  { section: 'scaling', label: 'CPU target', within: 'Autoscaling' },
  { section: 'scaling', label: 'Idle timeout', keywords: 'sleep', within: 'Autoscaling' },
  { section: 'scaling', label: 'Wake timeout', keywords: 'sleep cold start', within: 'Autoscaling' },
  { section: 'health', label: 'Readiness check', keywords: 'health path probe', path: 'readinessCheck' },
  { section: 'health', label: 'Start timeout', keywords: 'boot', path: 'startTimeoutMs' },
  { section: 'health', label: 'Liveness check', keywords: 'health probe restart', path: 'livenessCheck' },
  { section: 'health', label: 'Default health path', keywords: 'probe', path: 'app.healthPath' },
  {
    section: 'health',
    label: 'Active health checks',
    keywords: 'interval threshold',
    path: 'traffic.healthCheck',
    effect: 'now',
  },
  {
    section: 'health',
    label: 'Consecutive failures',
    keywords: 'outlier ejection circuit breaker',
    path: 'traffic.outlierEjection',
    effect: 'now',
  },
  { section: 'health', label: 'Ejection time', keywords: 'outlier', within: 'Consecutive failures' },
  { section: 'health', label: 'Max ejected', keywords: 'outlier', within: 'Consecutive failures' },
  {
    section: 'traffic',
    label: 'Upstream protocol',
    keywords: 'http2 grpc',
    path: 'traffic.upstreamProtocol',
    effect: 'now',
  },
  {
    section: 'traffic',
    label: 'Load balancing',
    keywords: 'round robin',
    path: 'traffic.loadBalancing',
    effect: 'now',
  },
  {
    section: 'traffic',
    label: 'Sticky sessions',
    keywords: 'affinity cookie',
    path: 'traffic.stickySessions',
    effect: 'now',
  },
  { section: 'traffic', label: 'Response timeout', keywords: '504', path: 'traffic.responseTimeoutMs', effect: 'now' },
  { section: 'traffic', label: 'Slow start', keywords: 'ramp', path: 'traffic.slowStartMs', effect: 'now' },
  { section: 'traffic', label: 'Retry budget', path: 'traffic.retryBudgetPercent', effect: 'now' },
  { section: 'traffic', label: 'Queue length', keywords: '503', path: 'traffic.queueLengthMax', effect: 'now' },
  { section: 'traffic', label: 'Queue timeout', keywords: '503', path: 'traffic.queueTimeoutMs', effect: 'now' },
  {
    section: 'traffic',
    label: 'Connections per instance',
    path: 'traffic.connectionsPerInstance',
    effect: 'now',
  },
  {
    section: 'traffic',
    label: 'In-flight per instance',
    keywords: 'concurrency',
    path: 'traffic.inFlightPerInstance',
    effect: 'now',
  },
  {
    section: 'traffic',
    label: 'In-flight per app',
    keywords: 'concurrency limit',
    path: 'traffic.inFlightPerApp',
    effect: 'now',
  },
  {
    section: 'traffic',
    label: 'Load shedding',
    keywords: 'priority overload',
    path: 'traffic.loadShedding',
    effect: 'now',
  },
  { section: 'deploys', label: 'Deploy on push', keywords: 'pause webhook git' },
  { section: 'deploys', label: 'Watch paths', keywords: 'glob monorepo push' },
  { section: 'deploys', label: 'Tag pattern', keywords: 'push' },
  { section: 'deploys', label: 'Required checks', keywords: 'github ci', within: 'Watch paths' },
  { section: 'deploys', label: 'Check timeout', keywords: 'github ci', within: 'Watch paths' },
  { section: 'deploys', label: 'Webhooks', keywords: 'gitlab gitea forgejo' },
  { section: 'deploys', label: 'Release command', keywords: 'migrate hook', path: 'releaseCommand' },
  { section: 'deploys', label: 'Post-release command', keywords: 'hook', path: 'postReleaseCommand' },
  { section: 'deploys', label: 'Rollout', keywords: 'strategy blue-green canary rolling', path: 'rollout' },
  {
    section: 'deploys',
    label: 'Benchmark gate',
    keywords: 'threshold regression performance load test',
    path: 'benchmarkGate',
  },
  { section: 'deploys', label: 'Releases kept', keywords: 'rollback artifacts', path: 'releasesKept' },
  { section: 'deploys', label: 'Deployment URLs', keywords: 'preview', path: 'deploymentUrls', effect: 'now' },
  { section: 'servers', label: 'Servers', keywords: 'primary add remove' },
  { section: 'access', label: 'Environment', keywords: 'protection approval protected' },
  { section: 'danger', label: 'Delete app', keywords: 'remove' },
  { section: 'danger', label: 'Remove from', keywords: 'environment' },
];

/** Fields of the tab Storage, which are no section of the settings. */
const STORAGE = [{ label: 'Volumes', path: 'volumes', effect: 'deployment' }] as const;

interface NamedSetting {
  readonly label: string;
  readonly effect: SettingEffect;
}

const byPath: ReadonlyMap<string, NamedSetting> = new Map(
  [...settingFields, ...STORAGE].flatMap(({ path, label, effect = 'deployment' }) =>
    path === undefined ? [] : [[path, { label, effect }] as const],
  ),
);

/** Returns label and effect of a setting by its path; a variable keeps its own name. */
export function namedSetting(path: string): NamedSetting {
  const known = byPath.get(path);
  if (known !== undefined) return known;
  const [root = '', ...rest] = path.split('.');
  if (root === 'variables' && rest.length > 0) return { label: rest.join('.'), effect: 'deployment' };
  const words = (rest.at(-1) ?? root).replace(/([A-Z])/g, ' $1').toLowerCase();
  return {
    label: words.slice(0, 1).toUpperCase() + words.slice(1),
    effect: root === 'traffic' ? 'now' : 'deployment',
  };
}

const RESULTS_MAX = 8;

/** Returns the fields that fit a search, best first: those whose label begins with it, contains it, then keywords. */
export function searchFields(text: string): readonly SettingField[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const rank = ({ label, keywords = '' }: SettingField) => {
    const name = label.toLowerCase();
    if (name.startsWith(wanted)) return 0;
    if (name.includes(wanted)) return 1;
    return keywords.includes(wanted) ? 2 : 3;
  };
  return settingFields
    .filter((field) => rank(field) < 3)
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, RESULTS_MAX);
}

/** Anchor of a field in the URL of its section. */
export function fieldAnchor(label: string): string {
  return label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
