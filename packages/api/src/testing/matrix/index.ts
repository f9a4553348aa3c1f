// The door to the permission matrix: the check of it, and its page.
export { origin, startApi } from '../test-api.ts';
export { checkMatrix, type MatrixOptions, type MatrixReport } from './check.ts';
export { declaredRoutes, type RouteHandlers } from './routes.ts';
