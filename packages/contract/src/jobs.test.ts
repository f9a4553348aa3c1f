import { expect, test } from 'vitest';
import { jobs } from './jobs.ts';

test('a job is listed under its own name', () => {
  for (const [name, job] of Object.entries(jobs)) expect(job.name).toBe(name);
});

test('a tenant job cannot be enqueued without its organization; a system job belongs to none', () => {
  for (const job of Object.values(jobs)) {
    expect(job.payload.safeParse({}).success, job.name).toBe(job.scope === 'system');
    expect(job.every === null, job.name).toBe(job.scope === 'tenant');
  }
});
