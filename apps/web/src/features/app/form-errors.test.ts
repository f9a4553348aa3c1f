import { expect, test } from 'vitest';
import type { Failure } from '../../api/failure.ts';
import { fieldOfAddedEnvironment, fieldOfNewApp, formErrors } from './form-errors.ts';

const failure = (code: string, fields: Record<string, string> = {}): Failure => ({
  code,
  message: 'The sentence of the code.',
  fields,
  errorId: null,
  retryable: false,
});

test('errors of input fields appear on the fields of the form', () => {
  const fields = { 'source.branch': 'No branch.', 'serverIds.2': 'No server.', 'domain.host': 'No host.' };
  expect(formErrors(failure('input.invalid', fields), fieldOfNewApp)).toEqual({
    fields: { branch: 'No branch.', serverId: 'No server.', host: 'No host.' },
    note: null,
  });
});

test('errors without a field are shown once', () => {
  const fields = { name: 'No name.', 'secrets.0.value': 'Too long.', 'secrets.1.value': 'Too long.' };
  expect(formErrors(failure('input.invalid', fields), fieldOfNewApp)).toEqual({
    fields: { name: 'No name.' },
    note: 'Too long.',
  });
  const note = 'The sentence of the code.';
  expect(formErrors(failure('permission.denied'), fieldOfNewApp)).toEqual({ fields: {}, note });
});

test.each([
  ['app.name_taken', fieldOfNewApp, 'name'],
  ['domain.taken', fieldOfNewApp, 'host'],
  ['environment.name_taken', fieldOfAddedEnvironment, 'name'],
  ['placement.exists', fieldOfAddedEnvironment, 'environmentId'],
])('%s appears on its field', (code, fieldOf, field) => {
  expect(formErrors(failure(code), fieldOf)).toEqual({ fields: { [field]: 'The sentence of the code.' }, note: null });
});

test('there are no errors without a failure', () =>
  expect(formErrors(null, fieldOfNewApp)).toEqual({ fields: {}, note: null }));
