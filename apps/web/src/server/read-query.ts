// Reads the query of a page outside of organizations.

type Query = Readonly<Record<string, string | string[] | undefined>>;

export interface SearchProps {
  readonly searchParams: Promise<Query>;
}

/** Returns a reader of single values; a missing or repeated one is empty. */
export async function readQuery(searchParams: Promise<Query>): Promise<(name: string) => string> {
  const query = await searchParams;
  return (name) => {
    const value = query[name];
    return typeof value === 'string' ? value : '';
  };
}
