// Reads the checks of a commit: check runs and commit statuses.
import { ownerAndName } from './convert.ts';
import type { RepositoryPlace } from './reporting.ts';
import { ask, requestOf, type TransportOptions } from './transport.ts';

/** Check run or commit status. */
export interface CommitCheck {
  readonly name: string;
  readonly state: 'pending' | 'passed' | 'failed';
  /** As GitHub names it; empty: it has not ended. */
  readonly conclusion: string;
}

export interface Checks {
  listChecks(place: RepositoryPlace, commitHash: string): Promise<readonly CommitCheck[]>;
}

const pageSize = 100;
/** GitHub lists the check runs of the newest 1000 check suites. */
const pagesMax = 20;
const passed: readonly string[] = ['success', 'neutral', 'skipped'];

export function createChecks(options: TransportOptions): Checks {
  return {
    listChecks: ({ baseUrl, token, fullName }, ref) =>
      ask(options, async () => {
        const request = requestOf(options, baseUrl, token);
        const path = { ...ownerAndName(fullName), ref, per_page: pageSize };
        const checks: CommitCheck[] = [];
        for (let page = 1; page <= pagesMax; page += 1) {
          const { data } = await request('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', {
            ...path,
            filter: 'latest',
            page,
          });
          checks.push(...data.check_runs.map(({ name, conclusion }) => ({ name, ...endOf(conclusion) })));
          if (data.check_runs.length < pageSize) break;
        }
        for (let page = 1; page <= pagesMax; page += 1) {
          const { data } = await request('GET /repos/{owner}/{repo}/commits/{ref}/status', { ...path, page });
          checks.push(
            ...data.statuses.map(({ context, state }) => ({
              name: context,
              ...endOf(state === 'pending' ? null : state),
            })),
          );
          if (data.statuses.length < pageSize) break;
        }
        return checks;
      }),
  };
}

function endOf(conclusion: string | null): Pick<CommitCheck, 'state' | 'conclusion'> {
  if (conclusion === null) return { state: 'pending', conclusion: '' };
  return { state: passed.includes(conclusion) ? 'passed' : 'failed', conclusion };
}
