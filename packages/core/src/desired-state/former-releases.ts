// Renders deployment URLs: their former releases as apps of their own, and their routes. Pure, from rows.
import { create, toBinary } from '@bufbuild/protobuf';
import { type AppSpec, AppSpecSchema } from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import { parseId } from '@fairlead/contract/ids';
import { autoscalingSchema, defaultSettings, type Settings } from '../config/index.ts';
import { withNoindex } from '../traffic/index.ts';
import { canRun } from './capabilities.ts';
import { type ReleaseRow, releaseSpec } from './release-spec.ts';
import { appFields } from './settings-fields.ts';
import type { DomainRow, RoutedPlacement } from './to-desired-state.ts';

/** A release behind its deployment URL. The live one is the app itself, under one more name. */
export interface DeploymentUrlRow {
  readonly appId: string;
  readonly environmentId: string;
  readonly appName: string;
  readonly traffic: Settings['traffic'];
  readonly isLive: boolean;
  readonly release: ReleaseRow;
  readonly url: string;
  /** A row for each path of the app's own name; all have the host of the URL. */
  readonly domains: readonly DomainRow[];
}

/** Maximum size of the former releases, without their secrets: an agent refuses a state that is too large. */
const formerBytesMax = 1024 * 1024;

/** Leaves out those that do not fit, or that the agent can't run: the proxy answers that they are not running. */
export function formerReleases(
  deploymentUrls: readonly DeploymentUrlRow[],
  capabilities: readonly string[],
): AppSpec[] {
  let bytes = 0;
  return deploymentUrls.flatMap((row) => {
    if (row.isLive) return [];
    const spec = formerReleaseSpec(row, capabilities);
    const size = toBinary(AppSpecSchema, spec).length - (row.release.secrets?.sealed.length ?? 0);
    if (bytes + size > formerBytesMax || !canRun(spec, capabilities)) return [];
    bytes += size;
    return [spec];
  });
}

/** One instance of the web process alone, without volumes: two releases must not write the same files. */
function formerReleaseSpec(row: DeploymentUrlRow, capabilities: readonly string[]): AppSpec {
  const { release } = row;
  const traffic = supports(capabilities, 'traffic') ? row.traffic : defaultSettings.traffic;
  const live: ReleaseRow = {
    ...release,
    settings: { ...release.settings, workers: [], volumes: [] },
    plan: { ...release.plan, workers: [] },
    systemVariables: { ...release.systemVariables, FAIRLEAD_URL: row.url },
  };
  return create(AppSpecSchema, {
    ...appFields({ autoscaling: asleepUntilRequested, traffic }),
    appId: row.appId,
    environmentId: environmentOfUrl(release.id),
    releaseEnvironmentId: row.environmentId,
    name: row.appName,
    instances: 1,
    live: releaseSpec(live, capabilities),
  });
}

const asleepUntilRequested = autoscalingSchema.parse({ instancesMin: 0, instancesMax: 1 });

/** Policies are those of the app's own name below the base domain; search engines index no former release. */
export function routedUrl({ appId, environmentId, isLive, release, domains }: DeploymentUrlRow): RoutedPlacement {
  return {
    appId,
    environmentId: isLive ? environmentId : environmentOfUrl(release.id),
    domains: domains.map((domain) => ({ ...domain, policy: withNoindex(domain.policy) })),
  };
}

/** Returns the id under which an agent runs a former release: an environment of its own, which no row has. */
function environmentOfUrl(releaseId: string): string {
  return `env_${parseId('rel', releaseId).slice('rel_'.length)}`;
}
