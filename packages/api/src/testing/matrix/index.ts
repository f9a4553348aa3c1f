// The door to the permission matrix: the check of it, and its page.
export { startApi } from '../test-api.ts';
export { checkMatrix, type MatrixReport } from './check.ts';
