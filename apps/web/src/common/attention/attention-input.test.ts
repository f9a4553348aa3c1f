import { expect, test } from 'vitest';
import { attentionInput, attentionQuery } from './attention-input.ts';

const read = (query: string) => {
  const params = new URLSearchParams(query);
  return attentionInput((name) => params.get(name) ?? '');
};

test('the filter of a group survives its way through the URL', () => {
  const attention = {
    kind: 'deployment_failed',
    cause: 'build.command_failed',
    projectId: 'prj_00000000000000000000',
  } as Parameters<typeof attentionQuery>[0];
  expect(read(attentionQuery(attention))).toEqual({ attention });
  expect(read(attentionQuery({ kind: 'approval' }))).toEqual({ attention: { kind: 'approval' } });
});

test('an unknown kind and a foreign project filter nothing', () => {
  expect(read('attention=everything&cause=x')).toEqual({});
  expect(read('attention=approval&project=../evil')).toEqual({ attention: { kind: 'approval' } });
});
