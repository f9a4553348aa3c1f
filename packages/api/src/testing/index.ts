// startTestApi() for vitest's test files: a test API on a clone of the run's template database.
import { testDatabase } from '@fairlead/db/testing';
import { startApi, type TestApi } from './test-api.ts';

export { emptyRepository, origin, type TestApi } from './test-api.ts';

export async function startTestApi(): Promise<TestApi> {
  return startApi(await testDatabase());
}
