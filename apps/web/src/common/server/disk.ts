// Threshold at which a server's disk counts as short; its gauge turns into a warning at the same share. Pure.
const SHORT_SHARE = 0.9;

export function isDiskShort(usedBytes: number | null, totalBytes: number | null): boolean {
  return usedBytes !== null && totalBytes !== null && totalBytes > 0 && usedBytes / totalBytes > SHORT_SHARE;
}
