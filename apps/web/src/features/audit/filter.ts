// Converts the audit filters between the URL, the API's input and the export's URL. Pure.

/** First part of an action's name → label of the filter. */
export const FEATURES = [
  ['app', 'Apps'],
  ['config', 'Settings of apps'],
  ['credential', 'Credentials'],
  ['deployment', 'Deployments'],
  ['domain', 'Domains'],
  ['certificate', 'Certificates'],
  ['server', 'Servers'],
  ['agent_rollout', 'Agent rollouts'],
  ['volume', 'Volumes'],
  ['benchmark', 'Benchmarks'],
  ['secret', 'Secrets'],
  ['member', 'Members'],
  ['invitation', 'Invitations'],
  ['role', 'Roles'],
  ['grant', 'Grants'],
  ['token', 'API tokens'],
  ['service_account', 'Service accounts'],
  ['project', 'Projects'],
  ['environment', 'Environments'],
  ['organization', 'Organization'],
  ['control_plane', 'Control plane'],
  ['account', 'Accounts'],
  ['setup', 'Setup'],
] as const;

const NAMES = ['search', 'action', 'actor', 'from', 'to'] as const;
export type FilterName = (typeof NAMES)[number];
export type FilterValues = Readonly<Record<FilterName, string>>;

const KINDS = ['member', 'token', 'agent', 'system'] as const;
type Kind = (typeof KINDS)[number];
const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads the filters; `read` returns an empty string for a filter that is not set. */
export function readFilter(read: (name: FilterName) => string): FilterValues {
  return { search: read('search'), action: read('action'), actor: read('actor'), from: read('from'), to: read('to') };
}

export interface AuditInput {
  readonly search?: string;
  readonly action?: string;
  readonly actorKind?: Kind;
  readonly from?: Date;
  readonly to?: Date;
}

/** Days are in UTC, and the last one is inclusive. Drops values that the page does not offer. */
export function toInput({ search, action, actor, from, to }: FilterValues): AuditInput {
  const kind = KINDS.find((each) => each === actor);
  const start = dayOf(from);
  const end = dayOf(to);
  return {
    ...(search === '' ? {} : { search: search.slice(0, 100) }),
    ...(action === '' ? {} : { action: action.slice(0, 100) }),
    ...(kind === undefined ? {} : { actorKind: kind }),
    ...(start === null ? {} : { from: start }),
    ...(end === null ? {} : { to: new Date(end.getTime() + DAY_MS) }),
  };
}

export function isFiltered(values: FilterValues): boolean {
  return NAMES.some((name) => values[name] !== '');
}

export function exportHref(organization: string, format: 'csv' | 'ndjson', values: FilterValues): string {
  const query = new URLSearchParams({ organization, format });
  for (const [name, value] of Object.entries(toInput(values))) {
    query.set(name, value instanceof Date ? value.toISOString() : value);
  }
  return `/api/audit/export?${query}`;
}

function dayOf(text: string): Date | null {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  return day === null || Number.isNaN(day.getTime()) ? null : day;
}
