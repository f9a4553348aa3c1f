export { AppError, type ErrorCode } from '@fairlead/contract/errors';
export { forwardedAddress, isHostAtOrBelow, isInRanges, networkOf, plainAddress } from './address.ts';
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
export { notifyChange } from './notify-change.ts';
export { type Page, toPage } from './page.ts';
export { retention } from './retention.ts';
export { clipText, firstFreeSlug, toSlug } from './text.ts';
export { hashToken, mintToken } from './token.ts';
