import { describe, expect, test } from 'vitest';
import { OptionsError, PORTS, parseOptions } from './options.mjs';
import { readStartSettings } from './start-settings.ts';

const context = { root: '/clone', cwd: '/elsewhere' };
const startSettings = (args: readonly string[], env: Record<string, string> = {}) =>
  readStartSettings(parseOptions(args, context), { FAIRLEAD_SETTINGS_FILE: '/dev/null', ...env });

describe('options of npm start', () => {
  test('without options, ports are the documented ones and the data folder is automatic', () => {
    expect(parseOptions([], context)).toMatchObject({
      agent: undefined,
      settingsFile: undefined,
      flags: {},
      reset: false,
      keepApps: false,
    });
    const { ports, values } = startSettings([]);
    expect(ports).toEqual({ web: 4400, gateway: 4401, source: 4402, https: 4443, http: 4480, database: 24432 });
    expect(Object.keys(ports)).toEqual(PORTS.map(({ name }) => name));
    expect(values.FAIRLEAD_DATA_DIR).toBeUndefined();
  });

  test("relative paths are resolved from the user's current folder", () => {
    expect(startSettings(['--data', 'here']).values.FAIRLEAD_DATA_DIR).toBe('/elsewhere/here');
    expect(parseOptions(['--settings', 'fairlead.toml'], context).settingsFile).toBe('/elsewhere/fairlead.toml');
  });

  test('a public URL moves the proxy to its port, unless a port is given, a reverse proxy serves it, or it is local', () => {
    const portsOf = (args: readonly string[], env?: Record<string, string>) => startSettings(args, env).ports;
    expect(portsOf(['--public-url', 'https://Fairlead.example.com/'])).toMatchObject({
      https: 443,
      http: 80,
      web: 4400,
    });
    const byAddress = ['--public-url', 'https://203.0.113.5:8443'];
    expect(portsOf([...byAddress, '--http-port', '8080'])).toMatchObject({ https: 8443, http: 8080 });
    expect(portsOf(byAddress, { FAIRLEAD_HTTPS_PORT: '9443' })).toMatchObject({ https: 9443, http: 80 });
    expect(portsOf([...byAddress, '--behind-proxy'])).toMatchObject({ https: 4443, http: 4480 });
    expect(portsOf([], { FAIRLEAD_PUBLIC_URL: 'https://[2001:db8::5]' })).toMatchObject({ https: 443, http: 80 });
    expect(portsOf(['--public-url', 'https://fairlead.localhost:4443'])).toMatchObject({ https: 4443, http: 4480 });
  });

  test.each([
    [['--web-port', '0'], '--web-port must be a port'],
    [['--web-port', 'http'], '--web-port must be a port'],
    [['--web-port', '70000'], '--web-port must be a port'],
    [['--web-port', '4401'], '--web-port and --gateway-port are both 4401: choose two different ports'],
    [['--colour'], "Unknown option '--colour'"],
    [['start'], 'Unexpected argument'],
  ])('%j is refused in one line', (args, message) => {
    expect(() => startSettings(args)).toThrow(OptionsError);
    expect(() => startSettings(args)).toThrow(message);
  });

  test('two options may exchange their ports, and a variable moves a port as an option does', () => {
    expect(startSettings(['--web-port', '4401', '--gateway-port', '4400']).ports).toMatchObject({
      web: 4401,
      gateway: 4400,
    });
    expect(startSettings(['--web-port', '4401'], { FAIRLEAD_GATEWAY_PORT: '4444' }).ports).toMatchObject({
      web: 4401,
      gateway: 4444,
    });
  });
});
