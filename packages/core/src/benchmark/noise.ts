// Noise of the machine beside a measurement: time of other processes, and time that the hypervisor took. Pure; the browser uses
// it too, so it imports no schema.
import type { MachineNoise } from './schema.ts';

/** Share of the machine's CPU from which other processes distort a row. */
const OTHER_SHARE_MAX = 0.1;
/** Stolen time hits the measured processes directly, so less of it distorts a row. */
const STEAL_SHARE_MAX = 0.02;

/** Returns the share of other processes in the CPU of the machine, from 0 to 1; null if it is not known. */
export function otherShare(noise: MachineNoise | null | undefined): number | null {
  return noise == null || noise.otherCpuUs === null ? null : shareOf(noise.otherCpuUs, noise);
}

/** Returns the share of stolen time in the CPU of the machine, from 0 to 1; null if it is not known. */
export function stealShare(noise: MachineNoise | null | undefined): number | null {
  return noise == null ? null : shareOf(noise.stealUs, noise);
}

function shareOf(us: number, { machineCpuUs }: MachineNoise): number | null {
  return machineCpuUs === 0 ? null : us / machineCpuUs;
}

/** True if other processes or the hypervisor took enough of the machine to distort the row. */
export function isNoisy(noise: MachineNoise | null | undefined): boolean {
  const { other, steal } = distortionOf(noise);
  return other !== null || steal !== null;
}

/** Returns the shares that are high enough to distort the row; null for the others. */
export function distortionOf(noise: MachineNoise | null | undefined): {
  readonly other: number | null;
  readonly steal: number | null;
} {
  const [other, steal] = [otherShare(noise) ?? 0, stealShare(noise) ?? 0];
  return { other: other > OTHER_SHARE_MAX ? other : null, steal: steal > STEAL_SHARE_MAX ? steal : null };
}
