// Reads the filters and the sort order of the servers page from the URL as input of the API. Pure.
import type { Inputs, ServerSummary } from '../../api/types.ts';
import { attentionInput } from '../../common/attention/attention-input.ts';
import { serverLook } from '../../common/deployment/states.ts';
import { choiceField, sortInput, textField } from '../../common/list/list-input.ts';
import { projectInput } from '../../common/project/project-input.ts';

type ListInput = Extract<Inputs['server']['list'], object>;
export type ServerSort = NonNullable<ListInput['sort']>;

/** The first is the default: offline servers come first. */
export const serverSorts = [
  ['state', 'State'],
  ['name', 'Name'],
  ['cpu', 'CPU'],
  ['memory', 'Memory'],
  ['disk', 'Disk'],
  ['apps', 'Apps'],
  ['last_seen', 'Last seen'],
] as const satisfies readonly (readonly [ServerSort, string])[];

export const serverStates = Object.keys(serverLook) as ServerSummary['state'][];
/** Value of the state filter for drained servers. */
export const DRAINED = 'drained';

const SERVERS_SHOWN = 50;

const NAMES = ['search', 'state', 'project', 'attention', 'cause', 'sort'] as const;
export type ServerFilterName = (typeof NAMES)[number];

/** `read` returns an empty string for a filter that is not set. */
export function serverInput(read: (name: ServerFilterName) => string) {
  const state = read('state');
  return {
    limit: SERVERS_SHOWN,
    ...textField('search', read('search')),
    ...(state === DRAINED ? { drained: true } : choiceField('state', state, serverStates)),
    ...projectInput(read('project')),
    ...attentionInput(read),
    sort: serverSorts[0][0],
    ...sortInput(
      read('sort'),
      serverSorts.map(([sort]) => sort),
    ),
  };
}
