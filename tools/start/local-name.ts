// Name of the control plane's own server. A control plane that was restored on a new machine still lists the local server of
// the lost one.
const LOCAL_SERVER = 'local';

/** Returns the first free name: `local`, `local-2` and so on. */
export function localName(servers: readonly { readonly name: string }[]): string {
  const taken = new Set(servers.map(({ name }) => name));
  if (!taken.has(LOCAL_SERVER)) return LOCAL_SERVER;
  for (let number = 2; ; number++) {
    const name = `${LOCAL_SERVER}-${number}`;
    if (!taken.has(name)) return name;
  }
}
