// Type of one app to deploy: an entry of the list of real apps, or an example.
import type { UpdateConfigInput } from '@fairlead/core/config';

/** Request to the app, and the response that it must give. */
export interface Exchange {
  /** A pattern selects the first path on the first page that matches: asset names change with each build. */
  readonly path: string | RegExp;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Default: 200. */
  readonly status?: number;
  readonly contains?: string;
  /** Prefix of the Content-Type header. */
  readonly contentType?: string;
}

/** Error that an app must end with. */
export interface Failure {
  readonly code: string;
  /** Text that the failure message must quote: the line with the reason, or the decisive fact. */
  readonly quotes: string;
}

interface RepositorySource {
  /** owner/name on GitHub. */
  readonly repository: string;
  readonly commit: string;
  readonly rootFolder?: string;
}

interface ExampleSource {
  /** Folder of `examples/`, which becomes a repository. */
  readonly example: string;
  readonly rootFolder?: string;
}

interface Living {
  /** Settings beside the root folder. With them an app counts as live with one setting. */
  readonly settings?: UpdateConfigInput['settings'];
  readonly first: Exchange;
  /** Asset, deep link, or a write and the reading of it. */
  readonly second: readonly [Exchange, ...Exchange[]];
}

export interface LivingApp extends RepositorySource, Living {}

export interface FailingApp extends RepositorySource {
  readonly fails: Failure;
}

export type RealApp = LivingApp | FailingApp;

export interface ExampleApp extends ExampleSource, Living {
  /** Runtime that the builder has to find. */
  readonly runtime: string;
  /** Default: a TCP connection. */
  readonly healthPath?: string;
  /** True if `npm test` deploys it too: quick, and buildable on every server. */
  readonly isInShortForm?: true;
}

export type App = RealApp | ExampleApp;

export function nameOf(app: App): string {
  const name = 'example' in app ? app.example : app.repository;
  return app.rootFolder === undefined ? name : `${name}/${app.rootFolder}`;
}
