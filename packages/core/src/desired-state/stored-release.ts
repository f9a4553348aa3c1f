// Release as the database stores it, with its settings.
import { defaultSettings, type Settings, settingsSchema } from '../config/index.ts';

export const releaseColumns = {
  id: true,
  number: true,
  artifactDigest: true,
  artifactKind: true,
  command: true,
  healthPath: true,
  plan: true,
  origin: true,
  secretSnapshotId: true,
  config: { select: { settings: true } },
} as const;

export interface StoredRelease {
  readonly id: string;
  readonly number: number;
  readonly artifactDigest: string;
  readonly artifactKind: string;
  readonly command: string[];
  readonly healthPath: string;
  readonly plan: unknown;
  readonly origin: unknown;
  readonly secretSnapshotId: string | null;
  readonly config: { readonly settings: unknown } | null;
}

/** Returns the settings of a stored configuration; the defaults for null. */
export function settingsOf(config: { readonly settings: unknown } | null): Settings {
  return config === null ? defaultSettings : settingsSchema.parse(config.settings);
}

/** Returns the key of an app in an environment. */
export function placementKey(row: { readonly appId: string; readonly environmentId: string }): string {
  return `${row.appId}/${row.environmentId}`;
}
