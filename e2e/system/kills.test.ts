// Short form of `npm run check:kills`: each process once, at a step where its death could hurt.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Kill, KillDrill } from '../kills/drill.ts';
import { type Gates, openGates } from './harness/gates.ts';
import { System } from './harness/system.ts';

const KILLS: readonly Kill[] = [
  { victim: 'gateway', step: 'clone' },
  { victim: 'worker', step: 'queue' },
  { victim: 'database', step: 'build' },
  { victim: 'run', step: 'health' },
  { victim: 'shim', step: 'health' },
  { victim: 'proxy', step: 'drain' },
];

let gates: Gates;
let system: System;
let drill: KillDrill;

beforeAll(async () => {
  gates = await openGates();
  system = await System.start({ durable: true });
  drill = await KillDrill.start(system, gates);
});
afterAll(async () => {
  await drill?.stop();
  await system?.stop();
  await gates?.close();
});

test.each(KILLS)(
  '$victim dies at the step $step: the deployment ends, and nobody else notices',
  {
    timeout: 400_000,
  },
  async (kill) => {
    const { ended, failures } = await drill.run(kill);
    expect(failures).toEqual([]);
    expect(ended).toMatch(/^(?:live|failed .*)$/);
  },
);
