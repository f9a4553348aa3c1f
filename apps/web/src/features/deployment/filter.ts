// Reads the filters of the deployments page from the URL as input of the API. Pure.
import { attentionInput } from '../../common/attention/attention-input.ts';
import { isDeploymentState } from '../../common/deployment/states.ts';
import { dayRange } from '../../common/list/day.ts';
import { choiceField, idField, textField } from '../../common/list/list-input.ts';
import { projectInput } from '../../common/project/project-input.ts';

const NAMES = [
  'search',
  'state',
  'app',
  'environment',
  'server',
  'project',
  'attention',
  'cause',
  'branch',
  'author',
  'from',
  'to',
  'order',
] as const;
export type DeploymentFilterName = (typeof NAMES)[number];

/** `read` returns an empty string for a filter that is not set. */
export function deploymentInput(read: (name: DeploymentFilterName) => string, timeZone: string) {
  const state = read('state');
  return {
    ...textField('search', read('search')),
    ...(isDeploymentState(state) ? { state } : {}),
    ...idField('appId', 'app', read('app')),
    ...idField('environmentId', 'env', read('environment')),
    ...idField('serverId', 'srv', read('server')),
    ...projectInput(read('project')),
    ...attentionInput(read),
    ...textField('branch', read('branch'), 200),
    ...textField('requestedBy', read('author')),
    ...dayRange(read('from'), read('to'), timeZone),
    ...choiceField('order', read('order'), ['oldest']),
  };
}
