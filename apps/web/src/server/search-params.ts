// One value of the address's query, as the client reads it: the first when there are several, empty when there is none.
export type SearchParams = Readonly<Record<string, string | string[] | undefined>>;

export function readSearch(params: SearchParams, name: string): string {
  const value = params[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
