// Pages of the documentation that the dashboard serves, each a file in `docs/`. Pure.
import { docsPath } from './docs-paths.ts';

export interface DocPage {
  /** Name in its URL. */
  readonly name: string;
  /** Name of its file in `docs/`, without extension; the same as the name if undefined. */
  readonly file?: string;
  readonly title: string;
  readonly summary: string;
  readonly keywords: readonly string[];
}

export const DOC_PAGES: readonly DocPage[] = [
  { name: 'guide', title: 'Guide', summary: 'The whole product, task by task.', keywords: ['help', 'docs', 'manual'] },
  { name: 'install', title: 'Install Fairlead', summary: 'Requirements, installer, updates.', keywords: ['upgrade'] },
  { name: 'builds', title: 'Configure builds', summary: 'Commands, folders, monorepos.', keywords: ['fairlead.toml'] },
  {
    name: 'build-reference',
    title: 'Build reference',
    summary: 'Detected frameworks, keys of fairlead.toml, error codes.',
    keywords: ['frameworks', 'buildpacks', 'errors'],
  },
  { name: 'static-sites', title: 'Static sites', summary: 'Redirects, headers, error pages.', keywords: ['spa'] },
  { name: 'containers', title: 'Containers', summary: 'Dockerfiles and images.', keywords: ['docker', 'dockerfile'] },
  { name: 'running', title: 'How apps run', summary: 'Sandbox, workers, volumes.', keywords: ['volumes', 'workers'] },
  { name: 'servers', title: 'Servers', summary: 'Add, drain, move and remove.', keywords: ['agent', 'enrol', 'drain'] },
  { name: 'proxy', title: 'Proxy', summary: 'Domains, certificates, traffic rules.', keywords: ['traffic', 'tls'] },
  { name: 'settings', title: 'Settings reference', summary: 'Every setting of the control plane.', keywords: ['smtp'] },
  { name: 'permissions', title: 'Permissions', summary: 'What each role may do.', keywords: ['roles'] },
  { name: 'security', title: 'Security', summary: 'Keys, secrets, isolation, backups.', keywords: ['encryption'] },
  {
    name: 'automation',
    file: 'api',
    title: 'API and tokens',
    summary: 'Automate deployments.',
    keywords: ['ci', 'rest'],
  },
];

export function docPath(name: string): string {
  return `${docsPath}/${name}`;
}
