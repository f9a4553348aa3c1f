// Order of desired-state versions: by epoch, then by number. A restored control plane starts a new epoch.

export interface Version {
  readonly epoch: number;
  readonly number: bigint;
}

export const noVersion: Version = { epoch: 0, number: 0n };

export function isNewer(a: Version, b: Version): boolean {
  return a.epoch === b.epoch ? a.number > b.number : a.epoch > b.epoch;
}
