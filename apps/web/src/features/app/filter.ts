// Reads the filters and the sort order of the apps page from the URL as input of the API. Pure.
import type { AppSummary, Inputs } from '../../api/types.ts';
import { attentionInput } from '../../common/attention/attention-input.ts';
import { appLook } from '../../common/deployment/states.ts';
import { choiceField, idField, sortInput, textField } from '../../common/list/list-input.ts';
import { projectInput } from '../../common/project/project-input.ts';

export type AppSort = NonNullable<Inputs['app']['list']['sort']>;

/** The first is the default. */
export const appSorts = [
  ['name', 'Name'],
  ['last_deployment', 'Last deployment'],
  ['requests', 'Requests'],
  ['errors', 'Errors'],
  ['p99', 'p99'],
] as const satisfies readonly (readonly [AppSort, string])[];

export const appStates = Object.keys(appLook) as AppSummary['status'][];

const NAMES = ['search', 'state', 'environment', 'server', 'project', 'attention', 'cause', 'sort'] as const;
export type AppFilterName = (typeof NAMES)[number];

/** `read` returns an empty string for a filter that is not set. */
export function appInput(read: (name: AppFilterName) => string) {
  return {
    ...textField('search', read('search')),
    ...choiceField('state', read('state'), appStates),
    ...idField('environmentId', 'env', read('environment')),
    ...idField('serverId', 'srv', read('server')),
    ...projectInput(read('project')),
    ...attentionInput(read),
    ...sortInput(
      read('sort'),
      appSorts.map(([sort]) => sort),
    ),
  };
}
