export { AppError, type ErrorCode } from '@fairlead/contract/errors';
export {
  canonicalAddress,
  forwardedAddress,
  isHostAtOrBelow,
  isInRanges,
  isPublicHost,
  networkOf,
  plainAddress,
} from './address.ts';
export {
  type Actor,
  actorUserId,
  type Clock,
  type Ctx,
  forOrganization,
  type Log,
  type OrganizationCtx,
  type SystemCtx,
  systemClock,
} from './context.ts';
export { isExcluded, isUniqueViolation } from './database-errors.ts';
export { withDeletedApps } from './deleted-apps.ts';
export { type DiskSpace, freeDiskBytes, readDisk, readDisks, reserveOf, roomOf } from './disk.ts';
export { notifyChange } from './notify-change.ts';
export { type CountedPage, countMax, type Page, toPage } from './page.ts';
export { reservedSince, retention } from './retention.ts';
export { withSavepoint } from './savepoint.ts';
export { clipText, describeCommit, firstFreeSlug, toSlug, withoutServerPath, withoutStyles } from './text.ts';
export { hashToken, mintToken } from './token.ts';
