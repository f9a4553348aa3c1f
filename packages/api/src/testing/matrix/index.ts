// Permission matrix: the check and the page rendered from it.
export { origin, startApi } from '../test-api.ts';
export { checkMatrix, type MatrixOptions, type MatrixReport } from './check.ts';
export { declaredRoutes, type RouteHandlers } from './routes.ts';
