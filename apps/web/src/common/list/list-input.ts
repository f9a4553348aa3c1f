// Reads filters of lists from a URL as input of the API. Pure and without zod, because browsers load it with every list.
// Values that the API would refuse are dropped, so that an edited URL still shows a list.
import type { AppId, EnvironmentId, ProjectId, ServerId } from '@fairlead/contract/ids';

interface Ids {
  readonly app: AppId;
  readonly env: EnvironmentId;
  readonly prj: ProjectId;
  readonly srv: ServerId;
}

/** Returns the id under the field's name; nothing for a text that isn't an id of the kind. */
export function idField<Name extends string, Prefix extends keyof Ids>(
  name: Name,
  prefix: Prefix,
  text: string,
): { [Key in Name]?: Ids[Prefix] } {
  const field = new RegExp(`^${prefix}_[0-9A-Za-z]{1,64}$`).test(text) ? { [name]: text } : {};
  return field as { [Key in Name]?: Ids[Prefix] };
}

/** Returns the text under the field's name; nothing for an empty one. */
export function textField<Name extends string>(name: Name, text: string, lengthMax = 100): { [Key in Name]?: string } {
  const value = text.trim().slice(0, lengthMax);
  const field = value === '' ? {} : { [name]: value };
  return field as { [Key in Name]?: string };
}

/** Returns the choice under the field's name; nothing for a text that isn't one of the choices. */
export function choiceField<Name extends string, Choice extends string>(
  name: Name,
  text: string,
  choices: readonly Choice[],
): { [Key in Name]?: Choice } {
  const choice = choices.find((each) => each === text);
  const field = choice === undefined ? {} : { [name]: choice };
  return field as { [Key in Name]?: Choice };
}

export interface SortInput<Sort extends string> {
  readonly sort?: Sort;
  readonly order?: 'asc' | 'desc';
}

/** Reads `p99`, or `p99.asc` for the other direction. */
export function sortInput<Sort extends string>(text: string, sorts: readonly Sort[]): SortInput<Sort> {
  const [name = '', direction] = text.split('.');
  const sort = sorts.find((each) => each === name);
  if (sort === undefined) return {};
  return direction === 'asc' || direction === 'desc' ? { sort, order: direction } : { sort };
}
