import { expect, test } from 'vitest';
import { documentOf, parseDocument, problemsOf } from './plan-document.ts';
import { draftOf } from './plan-draft.ts';

test('a document is read as it was written', () => {
  const { base: plan } = draftOf();
  expect(parseDocument(documentOf({ name: 'Nightly', plan }))).toEqual({
    document: { format: 'fairlead-plan-1', name: 'Nightly', plan },
  });
  expect(parseDocument('{')).toMatchObject({ problem: expect.stringMatching(/^The file isn't valid JSON: /) });
});

test('errors name their path in the document', () => {
  const fields = { 'document.plan.concurrency.1': 'Too small', 'document.format': 'Unknown', appId: 'Not here' };
  expect(problemsOf({ ...fields, document: 'Missing' })).toEqual([
    { path: 'plan.concurrency[1]', message: 'Too small' },
    { path: 'format', message: 'Unknown' },
    { path: 'document', message: 'Missing' },
  ]);
});
