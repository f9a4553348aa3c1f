import { describe, expect, test } from 'vitest';
import { OptionsError, parseOptions } from './options.mjs';

const context = { root: '/clone', cwd: '/elsewhere', env: {} };

describe('options of npm start', () => {
  test('without options, ports are the documented ones and the data folder is automatic', () => {
    const options = parseOptions([], context);
    expect(options).toMatchObject({
      data: undefined,
      agent: undefined,
      databaseUrl: undefined,
      reset: false,
      yes: false,
    });
    expect(options.ports).toEqual({ web: 4400, gateway: 4401, source: 4402, https: 4443, http: 4480, database: 24432 });
  });

  test("a relative folder is resolved from the user's current folder", () => {
    expect(parseOptions(['--data', 'here'], context).data).toBe('/elsewhere/here');
  });

  test('a public URL opens the proxy to other machines on its port, unless a reverse proxy serves the URL', () => {
    const of = (...args: string[]) => parseOptions(args, context);
    expect(of()).toMatchObject({ publicUrl: undefined, listen: '127.0.0.1' });
    const named = of('--public-url', 'https://Fairlead.example.com/');
    expect(named).toMatchObject({ publicUrl: 'https://fairlead.example.com', listen: '[::]' });
    expect(named.ports).toMatchObject({ https: 443, http: 80, web: 4400 });
    expect(of('--public-url', 'https://203.0.113.5:8443', '--http-port', '8080').ports).toMatchObject({
      https: 8443,
      http: 8080,
    });
    const behind = of('--public-url', 'https://203.0.113.5', '--behind-proxy');
    expect(behind).toMatchObject({ publicUrl: 'https://203.0.113.5', listen: '127.0.0.1' });
    expect(behind.ports).toMatchObject({ https: 4443, http: 4480 });
    const env = { FAIRLEAD_PUBLIC_URL: 'https://[2001:db8::5]' };
    expect(parseOptions([], { ...context, env }).publicUrl).toBe('https://[2001:db8::5]');
  });

  test.each([
    [['--public-url', 'http://fairlead.example.com'], '--public-url must be https://host'],
    [['--public-url', 'https://fairlead.example.com/base'], '--public-url must be https://host'],
    [['--public-url', 'https://user:word@fairlead.example.com'], '--public-url must be https://host'],
    [['--public-url', 'fairlead.example.com'], '--public-url must be https://host'],
    [['--behind-proxy'], '--behind-proxy needs'],
    [['--web-port', '0'], '--web-port must be a port'],
    [['--web-port', 'http'], '--web-port must be a port'],
    [['--web-port', '70000'], '--web-port must be a port'],
    [['--web-port', '4401'], 'choose two different ports'],
    [['--colour'], "Unknown option '--colour'"],
    [['start'], 'Unexpected argument'],
  ])('%j is refused in one line', (args, message) => {
    expect(() => parseOptions(args, context)).toThrow(OptionsError);
    expect(() => parseOptions(args, context)).toThrow(message);
  });
});
