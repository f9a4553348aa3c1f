import { expect, test } from 'vitest';
import { missingFields } from './use-form-errors.ts';

test('each empty field has its sentence, and a field that is not shown is not missing', () => {
  const data = new FormData();
  data.set('name', '  ');
  data.set('email', 'ada@example.com');
  const required = { name: 'Enter your name.', email: 'Enter your email.', token: 'Enter the token.' };
  expect(missingFields(data, required)).toEqual({ name: 'Enter your name.' });
});
