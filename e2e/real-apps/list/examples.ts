// The apps of `examples/`: the runtime that the builder must find, and the responses that each app must give. `npm test` and
// `npm run check:examples` both read this table.
import type { ExampleApp, Exchange } from '../real-app.ts';

const json = (contains: string): Exchange => ({ path: '/api/hello', contentType: 'application/json', contains });
const script = (path: RegExp): Exchange => ({ path, contentType: 'text/javascript' });

const FIRST: readonly ExampleApp[] = [
  {
    example: 'hello-node',
    runtime: 'node',
    healthPath: '/healthz',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Fairlead' },
    second: [{ path: '/healthz', contains: 'ok' }],
  },
  {
    example: 'hello-pnpm',
    runtime: 'node',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from pnpm, a day is 86400000 ms' },
    second: [{ path: '/any/path', contains: 'Hello from pnpm' }],
  },
  {
    example: 'hello-yarn',
    runtime: 'node',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Yarn, a day is 86400000 ms' },
    second: [{ path: '/any/path', contains: 'Hello from Yarn' }],
  },
  {
    example: 'hello-bun',
    runtime: 'bun',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Bun' },
    second: [{ path: '/any/path', contains: 'Hello from Bun' }],
  },
  {
    example: 'hello-deno',
    runtime: 'deno',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Deno' },
    second: [{ path: '/any/path', contains: 'Hello from Deno' }],
  },
  {
    example: 'hello-python',
    runtime: 'python',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Python' },
    second: [{ path: '/any/path', contains: 'Hello from Python' }],
  },
  {
    example: 'hello-go',
    runtime: 'go',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Go' },
    second: [{ path: '/any/path', contains: 'Hello from Go' }],
  },
  {
    example: 'hello-static',
    runtime: 'static',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from files' },
    second: [{ path: '/no-such-page', status: 404, contains: 'There is no such page.' }],
  },
  {
    example: 'hello-rust',
    runtime: 'rust',
    first: { path: '/', contains: 'Hello from Rust' },
    second: [{ path: '/any/path', contains: 'Hello from Rust' }],
  },
  {
    example: 'hello-dockerfile',
    runtime: 'container',
    first: { path: '/', contains: 'Hello from a container' },
    second: [{ path: '/any/path', contains: 'Hello from a container' }],
  },
];

const JAVASCRIPT_SERVERS: readonly ExampleApp[] = [
  {
    example: 'hello-next',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from Next.js' },
    second: [json('Next.js')],
  },
  { example: 'hello-nuxt', runtime: 'node', first: { path: '/', contains: 'Hello from Nuxt' }, second: [json('Nuxt')] },
  {
    example: 'hello-sveltekit',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from SvelteKit' },
    second: [json('SvelteKit')],
  },
  {
    example: 'hello-astro-node',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from Astro on Node' },
    second: [json('Astro')],
  },
  {
    example: 'hello-react-router',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from React Router' },
    second: [json('React Router')],
  },
  {
    example: 'hello-solid-start',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from SolidStart' },
    second: [json('SolidStart')],
  },
  {
    example: 'hello-tanstack-start',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from TanStack Start' },
    second: [json('TanStack Start')],
  },
  {
    example: 'hello-nest',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from NestJS' },
    second: [json('NestJS')],
  },
  {
    example: 'hello-express',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from Express' },
    second: [json('Express')],
  },
  {
    example: 'hello-fastify',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from Fastify' },
    second: [json('Fastify')],
  },
  { example: 'hello-hono', runtime: 'node', first: { path: '/', contains: 'Hello from Hono' }, second: [json('Hono')] },
  {
    example: 'hello-elysia',
    runtime: 'bun',
    first: { path: '/', contains: 'Hello from Elysia' },
    second: [json('Elysia')],
  },
];

const SITES: readonly ExampleApp[] = [
  {
    example: 'hello-vite-react',
    runtime: 'static',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from Vite' },
    second: [script(/\/assets\/[\w.-]+\.js/)],
  },
  {
    example: 'hello-vue',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Vue' },
    second: [script(/\/assets\/[\w.-]+\.js/)],
  },
  {
    example: 'hello-next-export',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from a Next.js export' },
    second: [script(/\/_next\/static\/[\w./~-]+\.js/)],
  },
  {
    example: 'hello-sveltekit-static',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from SvelteKit' },
    second: [script(/\/_app\/immutable\/entry\/[\w.-]+\.js/)],
  },
  {
    example: 'hello-react-router-spa',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from React Router' },
    second: [script(/\/assets\/[\w.-]+\.js/)],
  },
  {
    example: 'hello-astro',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Astro' },
    second: [{ path: '/hello.txt', contentType: 'text/plain', contains: 'A file that Astro copies' }],
  },
  {
    example: 'hello-angular',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Angular' },
    second: [{ path: '/favicon.svg', contentType: 'image/svg+xml' }],
  },
  {
    example: 'hello-create-react-app',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Create React App' },
    second: [script(/\/static\/js\/main\.\w+\.js/)],
  },
  {
    example: 'hello-vue-cli',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Vue CLI' },
    second: [script(/\/js\/[\w.-]+\.js/)],
  },
  {
    example: 'hello-docusaurus',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Docusaurus' },
    second: [{ path: '/about/', contains: 'About this site' }],
  },
  {
    example: 'hello-vitepress',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from VitePress' },
    second: [{ path: '/about.html', contains: 'About this site' }],
  },
  {
    example: 'hello-eleventy',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Eleventy' },
    second: [{ path: '/about/', contains: 'About this site' }],
  },
  {
    example: 'hello-mkdocs',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from MkDocs' },
    second: [{ path: '/about/', contains: 'About this site' }],
  },
  {
    example: 'hello-sphinx',
    runtime: 'static',
    first: { path: '/', contains: 'Hello from Sphinx' },
    second: [{ path: '/about.html', contains: 'About this site' }],
  },
];

const PYTHON: readonly ExampleApp[] = [
  {
    example: 'hello-django',
    runtime: 'python',
    first: { path: '/', contains: 'Hello from Django, visit ' },
    second: [{ path: '/static/hello.css', contentType: 'text/css' }],
  },
  {
    example: 'hello-fastapi',
    runtime: 'python',
    isInShortForm: true,
    first: { path: '/', contains: 'Hello from FastAPI' },
    second: [{ path: '/api/hello/Ada', contentType: 'application/json', contains: '"Ada"' }],
  },
  {
    example: 'hello-flask',
    runtime: 'python',
    first: { path: '/', contains: 'Hello from Flask' },
    second: [json('Flask')],
  },
  {
    // The browser renders the page over a WebSocket.
    example: 'hello-streamlit',
    runtime: 'python',
    first: { path: '/', contains: '<title>Streamlit</title>' },
    second: [{ path: '/_stcore/health', contains: 'ok' }],
  },
];

const WORKSPACES: readonly ExampleApp[] = [
  {
    example: 'hello-npm-workspace',
    rootFolder: 'apps/web',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from an npm workspace' },
    second: [json('an npm workspace')],
  },
  {
    example: 'hello-turborepo',
    rootFolder: 'apps/web',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from Turborepo' },
    second: [json('Turborepo')],
  },
  {
    example: 'hello-uv-workspace',
    rootFolder: 'web',
    runtime: 'python',
    first: { path: '/', contains: 'Hello from a uv workspace' },
    second: [json('uv')],
  },
  {
    example: 'hello-procfile',
    runtime: 'node',
    first: { path: '/', contains: 'Hello from a Procfile' },
    second: [json('Procfile')],
  },
];

export const EXAMPLES: readonly ExampleApp[] = [...FIRST, ...JAVASCRIPT_SERVERS, ...SITES, ...PYTHON, ...WORKSPACES];
export const SHORT_EXAMPLES = EXAMPLES.filter(({ isInShortForm }) => isInShortForm === true);
