// Returns one value of the URL's query, as the client reads it: the first of several, '' if there is none.
export type SearchParams = Readonly<Record<string, string | string[] | undefined>>;

export function readSearch(params: SearchParams, name: string): string {
  const value = params[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
