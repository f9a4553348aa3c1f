import { expect, test } from 'vitest';
import { describePackages, keysOfDependencies, keysOfFiles, type Lock } from './npm-packages.ts';

const lock: Lock = {
  packages: {
    'apps/web': { dependencies: { '@fairlead/ui': '*', react: '1' } },
    'node_modules/@fairlead/ui': { link: true, resolved: 'packages/ui' },
    'packages/ui': { dependencies: { chart: '1' } },
    'node_modules/react': { version: '1.0.0', license: 'MIT', integrity: 'sha512-AAAA' },
    'node_modules/chart': { version: '2.0.0', license: 'ISC', dependencies: { colour: '1' } },
    'node_modules/colour': { version: '9.0.0', license: 'MIT' },
    'node_modules/chart/node_modules/colour': { version: '1.0.0', license: 'MIT' },
    'node_modules/vitest': { version: '5.0.0', license: 'MIT' },
  },
};

test('dependencies are followed through our packages, and the nearest node_modules wins', () => {
  expect([...keysOfDependencies(lock, 'apps/web')].sort()).toEqual([
    'node_modules/chart',
    'node_modules/chart/node_modules/colour',
    'node_modules/react',
  ]);
});

test('files name the innermost package; our own packages are no part of npm', () => {
  const files = [
    'node_modules/chart/index.js',
    'node_modules/chart/node_modules/colour/a/b.js',
    'node_modules/@fairlead/ui',
    'packages/ui/src/a.ts',
  ];
  expect([...keysOfFiles(lock, files)]).toEqual(['node_modules/chart', 'node_modules/chart/node_modules/colour']);
});

test('packages are described as the lock file has them', () => {
  expect(describePackages(lock, ['node_modules/react', 'node_modules/chart/node_modules/colour'])).toMatchObject([
    { name: 'colour', version: '1.0.0', licence: 'MIT', integrity: undefined },
    { name: 'react', version: '1.0.0', integrity: 'sha512-AAAA' },
  ]);
  expect(() => describePackages(lock, ['node_modules/missing'])).toThrow('no version');
});
