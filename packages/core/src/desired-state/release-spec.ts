// Renders a release as the message that agents run. Pure, from rows.
import { create } from '@bufbuild/protobuf';
import { ArtifactKind, type ReleaseSpec, ReleaseSpecSchema } from '@fairlead/contract/agent';
import { supports } from '@fairlead/contract/capabilities';
import { listensOnSocket, type Settings, variablesIn } from '../config/index.ts';
import type { ReleasePlan } from '../release/index.ts';
import { releaseFields, workerFields } from './settings-fields.ts';

export interface ReleaseRow {
  readonly id: string;
  readonly number: number;
  readonly artifactDigest: string;
  readonly command: readonly string[];
  readonly healthPath: string;
  readonly artifactKind: 'archive' | 'image';
  readonly settings: Settings;
  /** Builder's findings in committed files. */
  readonly plan: ReleasePlan;
  readonly systemVariables: Readonly<Record<string, string>>;
  /** Secrets, sealed to the server; null for a release without secrets. */
  readonly secrets: { readonly sealed: Uint8Array; readonly version: string } | null;
}

export function releaseSpec(row: ReleaseRow, capabilities: readonly string[]): ReleaseSpec {
  const { settings, plan } = row;
  const isPlanned = settings.workers.length === 0 && supports(capabilities, 'worker');
  return create(ReleaseSpecSchema, {
    ...releaseFields(settings, row.healthPath),
    releaseId: row.id,
    number: BigInt(row.number),
    artifactDigest: row.artifactDigest,
    artifactKind: row.artifactKind === 'image' ? ArtifactKind.IMAGE : ArtifactKind.UNSPECIFIED,
    command: [...row.command],
    variables: { NODE_ENV: 'production', ...variablesIn(settings, 'run'), ...row.systemVariables },
    ...(isPlanned ? { workers: workerFields(plan.workers) } : {}),
    toolchains: supports(capabilities, 'toolchain') ? [...plan.toolchains] : [],
    // An agent refuses its whole state for a container with a socket; its deployment has failed with a sentence before.
    listensOnSocket:
      row.artifactKind === 'archive' && supports(capabilities, 'socket') && listensOnSocket(settings, plan),
    ...(row.secrets === null ? {} : { secrets: row.secrets }),
  });
}
