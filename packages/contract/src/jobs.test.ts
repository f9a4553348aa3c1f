import { expect, test } from 'vitest';
import { jobs } from './jobs.ts';

test('a job is listed under its own name', () => {
  for (const [name, job] of Object.entries(jobs)) expect(job.name).toBe(name);
});

test('a tenant job cannot be enqueued without its organization; a system job belongs to none', () => {
  for (const job of Object.values(jobs)) {
    expect('organizationId' in job.payload.shape, job.name).toBe(job.scope === 'tenant');
    // The schedule is the control plane's, and has no payload to give.
    if (job.every !== null) expect(job.payload.safeParse({}).success, job.name).toBe(true);
  }
});
