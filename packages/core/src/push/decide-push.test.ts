// Table of decisions: what a push means for one app in one environment.
import { expect, test } from 'vitest';
import { decidePush, findMistaken, type KnownPush, type PushRules } from './decide-push.ts';
import type { PushEvent } from './push-event.ts';
import type { OrderedPush } from './push-order.ts';

const hash = (letter: string) => letter.repeat(40);
const second = (count: number) => new Date(1_764_000_000_000 + count * 1000);

interface PushChanges extends Partial<PushEvent & OrderedPush> {
  readonly defaultBranch?: string | null;
}

function pushOf({ defaultBranch = 'main', ...changes }: PushChanges = {}): PushEvent & OrderedPush {
  return {
    repository: { id: '1', name: 'acme/shop', urls: [], defaultBranch },
    ref: 'refs/heads/main',
    before: hash('a'),
    after: hash('b'),
    commitHash: hash('b'),
    commitMessage: 'Sell shoes',
    commitAuthor: 'Ada',
    changedFiles: ['apps/web/page.tsx'],
    deleted: false,
    forced: false,
    sender: 'ada',
    senderId: 1,
    pushedAt: second(5),
    sequence: 10n,
    ...changes,
  };
}

const rules = (changes: Partial<PushRules> = {}): PushRules => ({
  branch: 'main',
  tagPattern: '',
  watchPaths: [],
  isPaused: false,
  ...changes,
});

const knownPush = (changes: Partial<KnownPush>): KnownPush => ({
  deliveryId: 'dlv_other',
  outcome: 'deployed',
  reason: 'matches',
  before: hash('x'),
  after: hash('a'),
  pushedAt: second(5),
  sequence: 1n,
  deploymentNumber: null,
  ...changes,
});

const told = (event: PushEvent & OrderedPush, given = rules(), known: readonly KnownPush[] = []) => {
  const { outcome, reason, detail } = decidePush(event, given, known);
  return detail === '' ? `${outcome} ${reason}` : `${outcome} ${reason} ${detail}`;
};

test.each<[string, PushChanges, Partial<PushRules>, string]>([
  ['the branch', {}, {}, 'deployed matches'],
  ['another branch', { ref: 'refs/heads/next' }, {}, 'skipped other_branch main'],
  ['a branch that begins alike', { ref: 'refs/heads/main/2' }, {}, 'skipped other_branch main'],
  ['the default branch', {}, { branch: '' }, 'deployed matches'],
  ['another than the default branch', { ref: 'refs/heads/next' }, { branch: '' }, 'skipped other_branch main'],
  ['no default branch known', { defaultBranch: null }, { branch: '' }, 'skipped unknown_default_branch main'],
  ['notes', { ref: 'refs/notes/commits' }, {}, 'skipped not_a_branch refs/notes/commits'],
  ['a tag without a pattern', { ref: 'refs/tags/v1' }, {}, 'skipped no_tag_pattern v1'],
  ['a tag of the pattern', { ref: 'refs/tags/v1.2.0' }, { tagPattern: 'v*' }, 'deployed matches'],
  ['a tag outside the pattern', { ref: 'refs/tags/beta-1' }, { tagPattern: 'v*' }, 'skipped other_tag v*'],
  ['a tag named as the branch', { ref: 'refs/tags/main' }, { tagPattern: 'v*' }, 'skipped other_tag v*'],
  ['a deleted branch', { deleted: true, after: null, commitHash: null }, {}, 'skipped ref_deleted'],
  ['another deleted branch', { ref: 'refs/heads/x', deleted: true }, {}, 'skipped other_branch main'],
  ['a forced push', { forced: true, changedFiles: null }, { watchPaths: ['apps/web/**'] }, 'deployed matches'],
  ['a pause', {}, { isPaused: true }, 'paused paused'],
  ['a skipped push in a pause', { commitMessage: '[skip ci]' }, { isPaused: true }, 'skipped skip_marker [skip ci]'],
])('%s', (_, event, changed, expected) => {
  expect(told(pushOf(event), rules(changed))).toBe(expected);
});

test.each([
  '[skip ci]',
  '[ci skip]',
  '[no ci]',
  '[skip actions]',
  '[actions skip]',
  '[skip deploy]',
  '[deploy skip]',
  '[no deploy]',
  '[Skip CI]',
])('the marker %s anywhere in the head commit', (marker) => {
  const skipped = `skipped skip_marker ${marker}`;
  expect(told(pushOf({ commitMessage: `Docs ${marker}` }))).toBe(skipped);
  expect(told(pushOf({ commitMessage: `Docs\n\nMore.\n${marker}\n` }))).toBe(skipped);
});

test('a skip trailer counts at the end only, and words like a marker do not', () => {
  expect(told(pushOf({ commitMessage: 'Docs\n\n\nskip-checks: true' }))).toBe('skipped skip_marker skip-checks: true');
  expect(told(pushOf({ commitMessage: `${'\n'.repeat(100_000)}x` }))).not.toContain('skip_marker');
  for (const commitMessage of ['skip-checks: true', 'Explain skip ci', '[skip cinema]', '[skip  ci]', '']) {
    expect(told(pushOf({ commitMessage })), commitMessage).toBe('deployed matches');
  }
});

test.each<[readonly string[], readonly string[] | null, boolean]>([
  [['apps/web/**'], ['apps/web/page.tsx'], true],
  [['apps/web/'], ['apps/web/deep/page.tsx'], true],
  [['apps/web/**'], ['apps/api/main.ts', 'README.md'], false],
  [['apps/web/**', 'packages/**'], ['packages/ui/button.tsx'], true],
  [['**/*.ts'], ['main.ts'], true],
  [['.github/**'], ['.github/workflows/ci.yml'], true],
  [['**'], ['.env.example'], true],
  [['!docs/**'], ['docs/guide.md'], false],
  [['!docs/**'], ['docs/guide.md', 'main.ts'], true],
  [['apps/**', '!apps/**/*.md'], ['apps/web/README.md'], false],
  [['apps/web/**'], [], false],
  // The host did not name the files, so the push may have changed any.
  [['apps/web/**'], null, true],
  [[], ['README.md'], true],
])('watch paths %j and changed files %j', (watchPaths, changedFiles, deploys) => {
  const { outcome } = decidePush(pushOf({ changedFiles }), rules({ watchPaths }), []);
  expect(outcome).toBe(deploys ? 'deployed' : 'skipped');
});

test.each<[string, PushChanges, readonly Partial<KnownPush>[], string]>([
  ['after an older push', {}, [{ pushedAt: second(4) }], 'deployed matches'],
  ['after a later push arrived', {}, [{ pushedAt: second(6) }], 'superseded later_push dlv_other'],
  ['in the same second, next in the chain', {}, [{}], 'deployed matches'],
  [
    'in the same second, before it in the chain',
    {},
    [{ before: hash('b'), after: hash('c') }],
    'superseded later_push dlv_other',
  ],
  [
    'in the same second, two before it in the chain',
    {},
    [
      { before: hash('b'), after: hash('c'), outcome: 'superseded', reason: 'later_push', deliveryId: 'dlv_c' },
      { before: hash('c'), after: hash('d'), sequence: 0n },
    ],
    'superseded later_push dlv_other',
  ],
  [
    'in the same second, first of a gap',
    {},
    [
      { pushedAt: second(1), deliveryId: 'dlv_a' },
      { before: hash('d'), after: hash('e') },
    ],
    'superseded later_push dlv_other',
  ],
  [
    'after a later push that was skipped',
    {},
    [{ pushedAt: second(6), outcome: 'skipped', reason: 'skip_marker' }],
    'deployed matches',
  ],
  [
    'after the branch was deleted later',
    {},
    [{ pushedAt: second(6), after: null, outcome: 'skipped', reason: 'ref_deleted' }],
    'superseded later_push dlv_other',
  ],
  [
    'when a paused push is later',
    {},
    [{ pushedAt: second(6), outcome: 'paused', reason: 'paused' }],
    'superseded later_push dlv_other',
  ],
  ['under another delivery id', {}, [{ before: hash('a'), after: hash('b') }], 'skipped repeated dlv_other'],
  ['back to an older commit by force', { forced: true, after: hash('x'), before: hash('a') }, [{}], 'deployed matches'],
  [
    'without times, in the order of arrival',
    { pushedAt: null, before: null },
    [{ pushedAt: null }],
    'deployed matches',
  ],
  [
    'without times, chained the other way',
    { pushedAt: null },
    [{ pushedAt: null, before: hash('b'), after: hash('c'), sequence: 20n }],
    'superseded later_push dlv_other',
  ],
])('a push %s', (_, event, known, expected) => {
  expect(told(pushOf(event), rules(), known.map(knownPush))).toBe(expected);
});

test('any order of arrival within one second ends with the last push, once all are known', () => {
  const letters = [...'abcdef'];
  const chain = letters.slice(1).map((letter, index) => ({ before: hash(letters[index] ?? ''), after: hash(letter) }));
  for (const order of permutations(chain)) {
    const outcome = 'superseded';
    const known = order.map((push, index) => knownPush({ ...push, outcome, sequence: BigInt(index + 1) }));
    expect(findMistaken(known)?.after).toBe(hash('f'));
  }
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}
