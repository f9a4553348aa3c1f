// Counts what became of planned pushes, from the rows that the control plane has at the end. Pure.
import { lastEligible, type PushPlan } from './push-plan.ts';

export interface PushReport {
  /** Deliveries that were sent. */
  readonly pushes: number;
  readonly duplicates: number;
  readonly deployed: number;
  readonly superseded: number;
  readonly skipped: number;
  /** Pushes without a decision, and branches that do not end with their last push. */
  readonly lost: number;
  /** Pushes with more than one decision or served deployment, and deployments with more than one check run at GitHub. */
  readonly doubled: number;
}

export interface PushOutcomes {
  readonly decisions: readonly {
    readonly after: string | null;
    readonly outcome: string;
    readonly deploymentId: string | null;
  }[];
  /** Deployments of pushes, oldest first. */
  readonly deployments: readonly {
    readonly id: string;
    readonly appId: string;
    readonly ref: string;
    readonly state: string;
  }[];
  /** Deployment of each check run at GitHub. */
  readonly checkRuns: readonly string[];
  /** App of each repository. */
  readonly apps: ReadonlyMap<number, string>;
}

export function countPushes({ pushes, deliveries }: PushPlan, outcomes: PushOutcomes): PushReport {
  const { decisions, deployments, checkRuns, apps } = outcomes;
  const states = new Map(deployments.map(({ id, state }) => [id, state]));
  const ends = decisions.map(({ outcome, deploymentId }) =>
    outcome === 'deployed' && states.get(deploymentId ?? '') === 'superseded' ? 'superseded' : outcome,
  );
  const total = (outcome: string) => ends.filter((each) => each === outcome).length;
  const decided = decisions.map(({ after }) => after);
  const served = deployments.filter(({ state }) => state !== 'superseded');
  const wrongEnds = [...lastEligible(pushes).values()].filter(({ repositoryId, after }) => {
    const last = served.findLast(({ appId }) => appId === apps.get(repositoryId));
    return last?.ref !== after || last.state !== 'live';
  });
  return {
    pushes: deliveries.length,
    duplicates: deliveries.length - pushes.length,
    deployed: total('deployed'),
    superseded: total('superseded'),
    skipped: total('skipped'),
    lost: pushes.filter(({ after }) => !decided.includes(after)).length + wrongEnds.length,
    doubled: repeats(decided) + repeats(served.map(({ appId, ref }) => `${appId} ${ref}`)) + repeats(checkRuns),
  };
}

export function isClean({ pushes, duplicates, deployed, superseded, skipped, lost, doubled }: PushReport): boolean {
  return lost === 0 && doubled === 0 && deployed + superseded + skipped === pushes - duplicates;
}

function repeats(values: readonly unknown[]): number {
  return values.length - new Set(values).size;
}
