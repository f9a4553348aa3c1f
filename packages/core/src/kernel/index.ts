export { type Actor, actorUserId, type Clock, type Ctx, type Log, type SystemCtx, systemClock } from './context.ts';
export { AppError, type ErrorDetails, isUniqueViolation } from './errors.ts';
export { type Page, toPage } from './page.ts';
export { toSlug } from './text.ts';
