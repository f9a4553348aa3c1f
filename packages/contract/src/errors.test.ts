import { expect, test, vi } from 'vitest';
import { AppError, errorCodes, errorTable, isErrorCode } from './errors.ts';

test('every code names a feature and a problem, and has a message of whole sentences', () => {
  for (const code of errorCodes) {
    expect(code).toMatch(/^[a-z_]+\.[a-z_]+$/);
    expect(errorTable[code].message, code).toMatch(/^[A-Z].*\.$/);
  }
});

test('every code of the link, and no other, has a close code', () => {
  for (const code of errorCodes) expect(errorTable[code].link !== undefined, code).toBe(code.startsWith('link.'));
});

test('a code of a newer agent is not taken for one of ours', () => {
  expect(isErrorCode('build.clone_failed')).toBe(true);
  expect(isErrorCode('build.from_the_future')).toBe(false);
  expect(isErrorCode('toString')).toBe(false);
});

test('an error carries its code, its sentence and its details', () => {
  const error = new AppError('app.not_found', { appId: 'app_1' });
  expect(error).toMatchObject({ name: 'AppError', code: 'app.not_found', details: { appId: 'app_1' } });
  expect(error.message).toBe(errorTable['app.not_found'].message);
});

test('an error of a second copy of this module is one of ours, and no other error is', async () => {
  vi.resetModules();
  const copy = await import('./errors.ts');
  expect(copy.AppError).not.toBe(AppError);
  expect(new copy.AppError('session.not_fresh')).toBeInstanceOf(AppError);
  for (const other of [new Error('session.not_fresh'), { code: 'session.not_fresh' }, null, 'x']) {
    expect(other instanceof AppError).toBe(false);
  }
});
