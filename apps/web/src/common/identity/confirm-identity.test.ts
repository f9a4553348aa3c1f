import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiRouter } from '@fairlead/api';
import { expect, test } from 'vitest';
import { proofError, wasCancelled, withProof } from './confirm-identity.tsx';

const source = join(import.meta.dirname, '../..');

/** Paths of the procedures that ask a person for a fresh session. */
function freshPaths(): string[] {
  const procedures = apiRouter._def.procedures as unknown as Record<string, { _def: { meta?: { fresh?: true } } }>;
  return Object.entries(procedures).flatMap(([path, { _def }]) => (_def.meta?.fresh === true ? [path] : []));
}

test('every page calls a procedure that needs a fresh session by the hook that asks for the proof', () => {
  const texts = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readFileSync(join(source, file), 'utf8'));
  const paths = freshPaths();
  expect(paths.length).toBeGreaterThan(10);
  for (const path of paths) {
    const uses = texts.flatMap((text) => [
      ...text.matchAll(
        new RegExp(`(\\w+)\\(\\s*(?:trpc|useTRPC\\(\\))\\.${path.replace('.', '\\.')}\\.mutationOptions`, 'g'),
      ),
    ]);
    expect([...new Set(uses.map(([, hook]) => hook))], path).toEqual(['useFreshMutation']);
    const direct = texts.filter((text) => text.includes(`.${path}.mutate(`));
    expect(direct, `${path} is called without the hook`).toEqual([]);
  }
});

test('a closed dialog marks the refusal as cancelled; a proof that the API does not accept stays a failure', async () => {
  const refusal = proofError('session.not_fresh');
  const work = () => Promise.reject(refusal);
  await expect(withProof(work, () => Promise.resolve(true))).rejects.toBe(refusal);
  expect(wasCancelled(refusal)).toBe(false);
  await expect(withProof(work, () => Promise.resolve(false))).rejects.toBe(refusal);
  expect(wasCancelled(refusal)).toBe(true);
});
