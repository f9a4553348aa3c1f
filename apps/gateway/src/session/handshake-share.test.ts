import { expect, test } from 'vitest';
import { type HandshakeLimits, makeRoom, type PendingHandshake } from './handshake-share.ts';

const limits: HandshakeLimits = { pendingMax: 8, networkMax: 4 };

interface Named extends PendingHandshake {
  readonly name: string;
}

/** `a` is a silent handshake of network a, `A` one that this side works on; `?` has an unknown network. Oldest first. */
function closed(pending: string, network: string | null, change: Partial<HandshakeLimits> = {}): string | null {
  const handshakes = [...pending].map(
    (letter, at): Named => ({
      name: `${letter}${at}`,
      network: letter === '?' ? null : letter.toLowerCase(),
      isSilent: letter === letter.toLowerCase(),
    }),
  );
  return (
    makeRoom(handshakes, network, { ...limits, ...change })
      ?.map(({ name }) => name)
      .join(' ') ?? null
  );
}

test.each([
  ['nothing is closed below the limits', 'aaab', 'a', ''],
  ['a network at its share displaces its own oldest silent handshake', 'baaaa', 'a', 'a1'],
  ['a handshake that this side works on is not silent', 'Aaaa', 'a', 'a1'],
  ['a network at its share is refused while none of its handshakes is silent', 'AAAA', 'a', null],
  ['at the total, the network with the most makes room', 'abaaabcc', 'd', 'a0'],
  ['a network that has as many as any other displaces only its own', 'aabbccdd', 'b', 'b2'],
  ['a network without a handshake gets in among single ones', 'abcdefgh', 'i', 'a0'],
  ['the next largest makes room if the largest has no silent one', 'AAAbbccd', 'e', 'b3'],
  ['at the total without a silent one the newcomer is refused', 'ABCDEFGH', 'i', null],
  ['clients of unknown address have no share of their own', '???????', null, ''],
  ['at the total, clients of unknown address displace each other', '????????', null, '?0'],
  ['at the total, they make room for a known one', '????????', 'a', '?0'],
])('%s', (_, pending, network, expected) => {
  expect(closed(pending, network)).toBe(expected);
});

test('a flood from one network leaves a handshake of another alone', () => {
  for (let flood = 1; flood <= limits.networkMax; flood += 1) {
    expect(closed(`b${'a'.repeat(flood)}`, 'a', { pendingMax: 5 })).not.toContain('b');
  }
});
