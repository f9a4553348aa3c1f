// When a server's disk is short. Pure; the same share from which its gauge turns into a warning.
const SHORT_SHARE = 0.9;

export function isDiskShort(usedBytes: number | null, totalBytes: number | null): boolean {
  return usedBytes !== null && totalBytes !== null && totalBytes > 0 && usedBytes / totalBytes > SHORT_SHARE;
}
