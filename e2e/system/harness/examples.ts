// The apps of examples/ that every server can build: with its own Node, Python and Go, and what the registries have.

export interface Example {
  readonly name: string;
  /** What the builder found out that it is. */
  readonly runtime: string;
  readonly says: string;
  readonly healthPath?: string;
}

export const EXAMPLES: readonly Example[] = [
  { name: 'hello-node', runtime: 'node', says: 'Hello from Fairlead', healthPath: '/healthz' },
  { name: 'hello-pnpm', runtime: 'node', says: 'Hello from pnpm, a day is 86400000 ms' },
  { name: 'hello-yarn', runtime: 'node', says: 'Hello from Yarn, a day is 86400000 ms' },
  { name: 'hello-bun', runtime: 'bun', says: 'Hello from Bun' },
  { name: 'hello-deno', runtime: 'deno', says: 'Hello from Deno' },
  { name: 'hello-python', runtime: 'python', says: 'Hello from Python' },
  { name: 'hello-go', runtime: 'go', says: 'Hello from Go' },
  { name: 'hello-static', runtime: 'static', says: 'Hello from files' },
];
