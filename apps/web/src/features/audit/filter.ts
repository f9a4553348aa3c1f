// Converts the audit filters between the URL, the API's input and the export's URL. Pure.
import { dayRange } from '../../common/list/day.ts';
import { textField } from '../../common/list/list-input.ts';

/** First part of an action's name → label of the filter. */
export const FEATURES = [
  ['app', 'Apps'],
  ['config', 'Settings of apps'],
  ['credential', 'Credentials'],
  ['deployment', 'Deployments'],
  ['push', 'Pushes'],
  ['preview', 'Previews'],
  ['webhook', 'Webhooks'],
  ['domain', 'Domains'],
  ['host', 'Host names'],
  ['certificate', 'Certificates'],
  ['github', 'GitHub'],
  ['dns_provider', 'DNS providers'],
  ['server', 'Servers'],
  ['agent_rollout', 'Agent rollouts'],
  ['volume', 'Volumes'],
  ['volume_move', 'Moves of volumes'],
  ['benchmark', 'Benchmarks'],
  ['variable', 'Environment variables'],
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

/** Reads the filters; `read` returns an empty string for a filter that is not set. */
export function readFilter(read: (name: FilterName) => string): FilterValues {
  return { search: read('search'), action: read('action'), actor: read('actor'), from: read('from'), to: read('to') };
}

export interface AuditInput {
  readonly search?: string;
  readonly action?: string;
  readonly actorKind?: Kind;
  readonly actorId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** The actor is a kind of actor or the id of one. Drops values that the page does not offer. */
export function toInput({ search, action, actor, from, to }: FilterValues, timeZone: string): AuditInput {
  const kind = KINDS.find((each) => each === actor);
  return {
    ...textField('search', search),
    ...textField('action', action),
    ...(kind === undefined ? actorOf(actor) : { actorKind: kind }),
    ...dayRange(from, to, timeZone),
  };
}

export function exportHref(organization: string, format: 'csv' | 'ndjson', input: AuditInput): string {
  const query = new URLSearchParams({ organization, format });
  for (const [name, value] of Object.entries(input)) {
    query.set(name, value instanceof Date ? value.toISOString() : value);
  }
  return `/api/audit/export?${query}`;
}

function actorOf(text: string): { readonly actorId?: string } {
  return /^(?:usr|tok|srv)_[0-9A-Za-z]{1,64}$/.test(text) ? { actorId: text } : {};
}
