// Upload quotas: the disk's free space and each organization's bounds. Reserves bytes before they are written, so that
// simultaneous uploads share one quota. Bytes of other processes count from the next measurement on.

export interface UploadQuotaBounds {
  /** All that one organization may store, unfinished uploads included. */
  readonly organizationBytesMax: number;
  readonly organizationFilesMax: number;
  /** Maximum number of an organization's concurrent uploads. */
  readonly uploadsMax: number;
  /** Bytes of the disk that stay free, at most 5 % of it: PostgreSQL may lie on it too. */
  readonly freeBytesMin: number;
}

/** Quota that one upload draws on. */
export interface UploadQuota {
  /** Call it before the file is made (0 bytes) and before each write; false if the quota does not allow `bytes` more. */
  reserve(bytes: number): Promise<boolean>;
  /** Call it after each write. */
  settle(bytes: number): void;
  end(): void;
}

interface UploadQuotaOptions {
  readonly bounds: UploadQuotaBounds;
  /** Bytes that may still be written to the disk. */
  readonly roomBytes: (freeBytesMin: number) => Promise<number>;
  readonly bytesOf: (organizationId: string) => Promise<number>;
  readonly filesOf: (organizationId: string) => Promise<number>;
}

// Bytes and files after which free space is measured again, because other processes write meanwhile. Measuring a
// disk is quick; an organization has many files.
const diskStepBytes = 64 * 1024 ** 2;
const organizationStepBytes = 1024 ** 3;
const organizationStepFiles = 100;

interface OrganizationQuota {
  readonly bytes: Meter;
  readonly files: Meter;
  uploads: number;
}

/** Returns a function that begins an upload; it returns null while the organization has `uploadsMax` running. */
export function createUploadQuotas(options: UploadQuotaOptions): (organizationId: string) => UploadQuota | null {
  const { bounds, roomBytes, bytesOf, filesOf } = options;
  const disk = createMeter(() => roomBytes(bounds.freeBytesMin), diskStepBytes);
  /** Quotas of organizations with a running upload; the next upload after them measures again. */
  const rooms = new Map<string, OrganizationQuota>();

  const roomOf = (organizationId: string): OrganizationQuota => {
    const known = rooms.get(organizationId);
    if (known !== undefined) return known;
    const { organizationBytesMax: bytesMax, organizationFilesMax: filesMax } = bounds;
    const room = {
      bytes: createMeter(async () => bytesMax - (await bytesOf(organizationId)), organizationStepBytes),
      files: createMeter(async () => filesMax - (await filesOf(organizationId)), organizationStepFiles),
      uploads: 0,
    };
    rooms.set(organizationId, room);
    return room;
  };

  return (organizationId) => {
    const room = roomOf(organizationId);
    if (room.uploads >= bounds.uploadsMax) return null;
    room.uploads += 1;
    let hasFile = false;
    return {
      reserve: async (bytes) => {
        hasFile ||= await room.files.take(1);
        if (!hasFile || !(await room.bytes.take(bytes))) return false;
        if (await disk.take(bytes)) return true;
        room.bytes.giveBack(bytes);
        return false;
      },
      settle: (bytes) => {
        room.bytes.settle(bytes);
        disk.settle(bytes);
      },
      end: () => {
        if (hasFile) room.files.settle(1);
        room.uploads -= 1;
        if (room.uploads === 0) rooms.delete(organizationId);
      },
    };
  };
}

interface Meter {
  take(amount: number): Promise<boolean>;
  giveBack(amount: number): void;
  settle(amount: number): void;
}

/** Hands out what `measure` returned, at most `step` of it between two measurements. */
function createMeter(measure: () => Promise<number>, step: number): Meter {
  let room = 0;
  let leftOfStep = 0;
  /** Taken and not settled: a measurement may or may not have seen it. */
  let pending = 0;
  let settled = 0;
  let measuring: Promise<void> | undefined;

  const measureOnce = async (): Promise<void> => {
    const settledBefore = settled;
    const measured = await measure();
    // Uploads that were settled meanwhile may be missing from the measurement. Counting them twice errs on the safe
    // side.
    room = measured - pending - (settled - settledBefore);
    leftOfStep = Math.min(room, step);
  };
  return {
    take: async (amount) => {
      if (amount > leftOfStep) {
        measuring ??= measureOnce().finally(() => {
          measuring = undefined;
        });
        await measuring;
        if (amount > room) return false;
      }
      room -= amount;
      leftOfStep -= amount;
      pending += amount;
      return true;
    },
    giveBack: (amount) => {
      pending -= amount;
      room += amount;
      leftOfStep += amount;
    },
    settle: (amount) => {
      pending -= amount;
      settled += amount;
    },
  };
}
