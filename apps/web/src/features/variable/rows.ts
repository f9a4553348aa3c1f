// Rows of the table of environment variables: plain ones, secrets, and those of shared groups. Pure.
import type { AppSecrets, PlainVariable, SecretView, VariableList } from '../../api/types.ts';

export type Pending = 'added' | 'changed';

interface RowFacts {
  /** Unique among the rows. */
  readonly key: string;
  readonly name: string;
  readonly pending: Pending | null;
  /** True if another variable of the same name takes precedence. */
  readonly overridden: boolean;
}

export interface PlainRow extends RowFacts {
  readonly kind: 'plain';
  readonly variable: PlainVariable;
}

export interface SecretRow extends RowFacts {
  readonly kind: 'secret';
  readonly secret: SecretView;
  /** Shared group that it comes from; null for the app's own. */
  readonly group: string | null;
}

export type VariableRow = PlainRow | SecretRow;

/** Returns all variables by name, overridden ones last among their name. `secrets` is null for a reader who may not list them. */
export function rowsOf({ variables }: VariableList, secrets: AppSecrets | null): VariableRow[] {
  const own = secrets?.secrets ?? [];
  const attached = (secrets?.groups ?? []).filter((group) => group.attached);
  const changes = new Map((secrets?.changes ?? []).map(({ name, kind }) => [name, kind]));
  const pendingOf = (label: string): Pending | null => {
    const kind = changes.get(label);
    return kind === 'added' || kind === 'changed' ? kind : null;
  };
  const ownNames = new Set(own.map(({ name }) => name));
  const secretNames = new Set([...ownNames, ...attached.flatMap((group) => group.secrets.map(({ name }) => name))]);
  const rows: VariableRow[] = [
    ...variables.map(
      (variable): PlainRow => ({
        kind: 'plain',
        key: `plain ${variable.name}`,
        name: variable.name,
        pending: variable.pending,
        // A secret reaches instances after the settings.
        overridden: secretNames.has(variable.name),
        variable,
      }),
    ),
    ...own.map(
      (secret): SecretRow => ({
        kind: 'secret',
        key: `${secret.id} ${secret.number}`,
        name: secret.name,
        pending: pendingOf(secret.name),
        overridden: false,
        secret,
        group: null,
      }),
    ),
    ...attached.flatMap((group) =>
      group.secrets.map(
        (secret): SecretRow => ({
          kind: 'secret',
          key: `${secret.id} ${secret.number}`,
          name: secret.name,
          pending: pendingOf(`${group.name}.${secret.name}`),
          overridden: ownNames.has(secret.name),
          secret,
          group: group.name,
        }),
      ),
    ),
  ];
  return rows.sort((a, b) =>
    a.name === b.name ? Number(a.overridden) - Number(b.overridden) : compare(a.name, b.name),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Returns rows whose name, plain value or group contains the text. Values of secrets are unknown here. */
export function filterRows(rows: readonly VariableRow[], text: string): readonly VariableRow[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter((row) => {
    const texts = row.kind === 'plain' ? [row.name, row.variable.value] : [row.name, row.group ?? ''];
    return texts.some((each) => each.toLowerCase().includes(wanted));
  });
}

export interface PendingChanges {
  readonly changes: readonly { readonly name: string; readonly kind: Pending | 'removed' }[];
  /** True if only secrets change, which needs no build. */
  readonly secretsOnly: boolean;
}

/** Returns what the live release doesn't have yet; a variable that became a secret is one change. */
export function pendingChanges({ variables, removed }: VariableList, secrets: AppSecrets | null): PendingChanges {
  const plain = [
    ...variables.flatMap(({ name, pending }) => (pending === null ? [] : [{ name, kind: pending }])),
    ...removed.map((name) => ({ name, kind: 'removed' as const })),
  ];
  const ofSecrets = secrets?.changes ?? [];
  const plainNames = new Set(plain.map(({ name }) => name));
  const both = new Set(ofSecrets.flatMap(({ name }) => (plainNames.has(name) ? [name] : [])));
  const changes = [
    ...plain.filter(({ name }) => !both.has(name)),
    ...ofSecrets.map((change) => (both.has(change.name) ? { name: change.name, kind: 'changed' as const } : change)),
  ];
  return { changes: changes.sort((a, b) => compare(a.name, b.name)), secretsOnly: plain.length === 0 };
}
