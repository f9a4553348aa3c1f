// What people type about an app, turned into what the API takes. Pure.
import { repositoryName } from '@fairlead/ui/lib/format';

/** A first name from the repository's address: its last part, without `.git`. */
export function suggestName(repositoryUrl: string): string {
  if (!/^https?:\/\/[^/]+\/./.test(repositoryUrl)) return '';
  return repositoryName(repositoryUrl).split('/').at(-1) ?? '';
}
