// Reads the filters of the benchmarks page from the URL as input of the API. Pure.
import { benchmarkLook } from '../../common/deployment/states.ts';
import { choiceField, idField, textField } from '../../common/list/list-input.ts';

type State = keyof typeof benchmarkLook;
export const benchmarkStates = Object.keys(benchmarkLook) as State[];

const TAG_LENGTH_MAX = 30;

/** `read` returns an empty string for a filter that is not set. */
export function runInput(read: (name: 'search' | 'state' | 'app' | 'server' | 'tag') => string) {
  return {
    ...textField('search', read('search')),
    ...choiceField('state', read('state'), benchmarkStates),
    ...idField('appId', 'app', read('app')),
    ...idField('serverId', 'srv', read('server')),
    ...textField('tag', read('tag'), TAG_LENGTH_MAX),
  };
}
