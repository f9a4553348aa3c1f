import { expect, test } from 'vitest';
import { isForbidden, isSessionOver, isUnanswered, OFFLINE, OFFLINE_CODE, readFailure } from './failure.ts';

test('the API’s sentence, its fields and its id are kept', () => {
  const error = Object.assign(new Error('Some fields are not as they should be.'), {
    data: { errorCode: 'input.invalid', fields: { name: 'Enter a name.', odd: 4 }, errorId: null },
  });
  expect(readFailure(error)).toEqual({
    code: 'input.invalid',
    message: 'Some fields are not as they should be.',
    fields: { name: 'Enter a name.' },
    errorId: null,
    retryable: false,
  });
});

test('the hosts that a failure concerns are named', () => {
  const failure = (hosts: unknown) =>
    readFailure({ message: 'They are shared.', data: { errorCode: 'environment.hosts_shared', details: { hosts } } });
  expect(failure(['a.test', 'b.test']).message).toBe('They are shared. Host names: a.test, b.test');
  expect(failure(Array(11).fill('a.test')).message).toMatch(/a\.test, …$/);
  for (const odd of [undefined, [], 'a.test', {}]) expect(failure(odd).message).toBe('They are shared.');
});

test('the deleted apps that keep a server are named', () => {
  const data = { errorCode: 'server.in_use', details: { apps: 0, deletedApps: ['Shop', 'Cart'] } };
  expect(readFailure({ message: 'Apps are on it.', data }).message).toBe(
    'Apps are on it. Recently deleted: Shop, Cart',
  );
});

test('no response at all reads as unreachable and may be retried', () => {
  for (const thrown of [new TypeError('fetch failed'), 'text', null, undefined]) {
    expect(readFailure(thrown)).toMatchObject({ code: null, retryable: true });
    expect(readFailure(thrown).message).not.toContain('fetch');
  }
});

test('an unknown error may be retried and has an id', () => {
  const error = Object.assign(new Error('Something went wrong on our side.'), {
    data: { errorCode: 'internal.unexpected', fields: {}, errorId: 'err_1' },
  });
  expect(readFailure(error)).toMatchObject({ errorId: 'err_1', retryable: true });
  expect(isSessionOver(error)).toBe(false);
});

test('an expired session is recognised', () => {
  expect(isSessionOver({ message: 'Sign in to continue.', data: { errorCode: 'session.required' } })).toBe(true);
});

test('a change that was never sent may be sent again, and a missing permission may not', () => {
  const offline = readFailure({ message: OFFLINE, data: { errorCode: OFFLINE_CODE } });
  expect(offline).toMatchObject({ message: OFFLINE, retryable: true });
  expect(isUnanswered(offline)).toBe(true);
  expect(isUnanswered(readFailure(new TypeError('Failed to fetch')))).toBe(true);
  const denied = readFailure({ message: 'Ask an owner.', data: { errorCode: 'permission.denied' } });
  expect([isForbidden(denied), isUnanswered(denied)]).toEqual([true, false]);
});
