// Assigns the errors of an API call to the fields of its form. Pure.
import type { Failure } from '../../api/failure.ts';

export interface FormErrors<Field extends string> {
  readonly fields: Readonly<Partial<Record<Field, string>>>;
  /** Messages without a field; null if there are none. */
  readonly note: string | null;
}

/** `fieldOf` maps a path of the input, without indexes, or an error code to a field of the form. */
export function formErrors<Field extends string>(
  failure: Failure | null,
  fieldOf: Readonly<Record<string, Field>>,
): FormErrors<Field> {
  const fields: Partial<Record<Field, string>> = {};
  if (failure === null) return { fields, note: null };
  const notes = new Set<string>();
  const paths = Object.entries(failure.fields);
  const found = paths.length > 0 ? paths : [[failure.code ?? '', failure.message] as const];
  for (const [name, message] of found) {
    const path = name.replace(/\.\d+$/, '');
    const field = Object.hasOwn(fieldOf, path) ? fieldOf[path] : undefined;
    if (field === undefined) notes.add(message);
    else fields[field] ??= message;
  }
  return { fields, note: notes.size === 0 ? null : [...notes].join(' ') };
}

const fieldOfDomain = {
  'domain.host': 'host',
  'domain.taken': 'host',
  'domain.reserved': 'host',
  'domain.elsewhere': 'host',
  'domain.protection_differs': 'host',
} as const;

export const fieldOfNewApp = {
  ...fieldOfDomain,
  name: 'name',
  'app.name_taken': 'name',
  'source.repositoryUrl': 'address',
  'source.image': 'address',
  'source.branch': 'branch',
  'source.rootFolder': 'rootFolder',
  'credential.host': 'address',
  'credential.username': 'username',
  'credential.password': 'password',
  serverIds: 'serverId',
  'server.not_found': 'serverId',
} as const;
export type NewAppErrors = FormErrors<(typeof fieldOfNewApp)[keyof typeof fieldOfNewApp]>;

export const fieldOfAddedEnvironment = {
  ...fieldOfDomain,
  'environment.environmentId': 'environmentId',
  'placement.exists': 'environmentId',
  'environment.name': 'name',
  'environment.name_taken': 'name',
  branch: 'branch',
  serverIds: 'serverId',
  'server.not_found': 'serverId',
} as const;
