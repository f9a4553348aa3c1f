import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { run, SILENT_CODE } from './command.ts';
import { identityOf } from './process-identity.ts';

test('a silent program is ended with all that it started, and a program with output is not', async () => {
  const speaks = await run('sh', ['-c', 'for word in a b c d; do echo $word; sleep 1; done'], { silenceMs: 3000 });
  expect(speaks).toMatchObject({ code: 0, stdout: 'a\nb\nc\nd\n' });

  const hangs = await run('sh', ['-c', 'sleep 600 & echo $!; wait'], { silenceMs: 3000 });
  expect(hangs.code).toBe(SILENT_CODE);
  expect(hangs.output).toContain('silent');
  await expect.poll(() => identityOf(Number(hangs.stdout))).toBeUndefined();
});

test('niceness is added to that of the program and of what it starts', async () => {
  const { stdout } = await run('sh', ['-c', 'nice; (nice)'], { niceness: 7 });
  const niceness = Math.min(getPriority() + 7, 19);
  expect(stdout).toBe(`${niceness}\n${niceness}\n`);
});
