// Order of versions. install.sh and the agent order them in the same way.
import { z } from 'zod';

/** Also what the updater accepts: it is part of paths and file names. */
export const versionSchema = z
  .string()
  .regex(/^[0-9][0-9A-Za-z]*([.-][0-9A-Za-z]+)*$/)
  .max(40);

/** True if `version` is newer than `other`. A pre-release, such as 1.0.0-rc.1, comes before its release. */
export function isNewer(version: string, other: string): boolean {
  const [numbers, preRelease] = partsOf(version);
  const [otherNumbers, otherPreRelease] = partsOf(other);
  const byNumbers = compare(numbers, otherNumbers);
  if (byNumbers !== 0) return byNumbers > 0;
  if (preRelease === null || otherPreRelease === null) return preRelease === null && otherPreRelease !== null;
  return compare(preRelease, otherPreRelease) > 0;
}

type Identifiers = readonly string[];

function partsOf(version: string): readonly [numbers: Identifiers, preRelease: Identifiers | null] {
  const at = version.indexOf('-');
  if (at < 0) return [version.split('.'), null];
  return [version.slice(0, at).split('.'), version.slice(at + 1).split('.')];
}

/** The longer list wins if one begins with the other. Numbers come before words. */
function compare(left: Identifiers, right: Identifiers): number {
  for (const [at, a] of left.entries()) {
    const b = right[at];
    if (b === undefined) return 1;
    const [aNumber, bNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    const order =
      aNumber && bNumber
        ? Number(a) - Number(b)
        : aNumber !== bNumber
          ? aNumber
            ? -1
            : 1
          : a < b
            ? -1
            : a > b
              ? 1
              : 0;
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
