// Vitest's global set-up: starts the run's database server and tells the test files where its template is.
import type { TestProject } from 'vitest/node';
import { startTestCluster, type TestCluster } from './testing.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly fairleadTemplateUrl: string;
  }
}

let cluster: TestCluster | null = null;

export async function setup(project: TestProject): Promise<void> {
  cluster = await startTestCluster();
  project.provide('fairleadTemplateUrl', cluster.templateUrl);
}

export async function teardown(): Promise<void> {
  await cluster?.stop();
}
