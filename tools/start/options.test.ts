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

  test.each([
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
