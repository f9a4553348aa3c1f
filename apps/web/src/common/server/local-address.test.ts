import { expect, test } from 'vitest';
import { localAddressIn } from './local-address.ts';

test('an address of this machine alone is found in a command or link, and no other one is', () => {
  const command = `d=$(mktemp -d) && curl -fsSLo "$d/agent.sh" 'http://localhost:4400/install/agent.sh' && sh "$d/agent.sh"`;
  expect(localAddressIn(command)).toBe('http://localhost:4400');
  for (const host of ['127.0.0.1:4400', '[::1]:4400', 'fairlead.localhost']) {
    expect(localAddressIn(`http://${host}/invitation#token=x`)).toBe(`http://${host}`);
  }
  for (const url of ['https://deploy.example.com/x', 'https://localhost.example.com/', 'no address']) {
    expect(localAddressIn(url)).toBeNull();
  }
});
