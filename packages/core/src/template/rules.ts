// Table of the templates that a new app can start from. Each is a folder of `examples/`, which the web app packs.

interface TemplateRow {
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  readonly language: string;
  /** Requirement of its build, beside the runtime that Fairlead installs. */
  readonly needs: 'nothing' | 'npm' | 'pypi' | 'containers';
}

export const templates = [
  { id: 'next', title: 'Next.js', detail: 'React pages and an API route', language: 'JavaScript', needs: 'npm' },
  { id: 'express', title: 'Express', detail: 'Web server with a JSON route', language: 'JavaScript', needs: 'npm' },
  { id: 'node', title: 'Node.js', detail: 'Web server with a health check', language: 'JavaScript', needs: 'nothing' },
  { id: 'fastapi', title: 'FastAPI', detail: 'JSON API with typed routes', language: 'Python', needs: 'pypi' },
  { id: 'django', title: 'Django', detail: 'Visit counter with SQLite', language: 'Python', needs: 'pypi' },
  { id: 'flask', title: 'Flask', detail: 'Web server with a JSON route', language: 'Python', needs: 'pypi' },
  { id: 'go', title: 'Go', detail: 'Web server, standard library only', language: 'Go', needs: 'nothing' },
  { id: 'rust', title: 'Rust', detail: 'Web server, standard library only', language: 'Rust', needs: 'nothing' },
  {
    id: 'dockerfile',
    title: 'Dockerfile',
    detail: 'Node.js in a container',
    language: 'JavaScript',
    needs: 'containers',
  },
  { id: 'static', title: 'Static files', detail: 'HTML pages without a build', language: 'HTML', needs: 'nothing' },
  { id: 'vite-react', title: 'Vite', detail: 'Single-page app with React', language: 'JavaScript', needs: 'npm' },
  { id: 'astro', title: 'Astro', detail: 'Static site from components', language: 'JavaScript', needs: 'npm' },
] as const satisfies readonly TemplateRow[];

export type Template = (typeof templates)[number];
export type TemplateId = Template['id'];

/** Returns the template's folder in `examples/`, which is also the name that a new app gets. */
export function templateFolder(id: TemplateId): string {
  return `hello-${id}`;
}
