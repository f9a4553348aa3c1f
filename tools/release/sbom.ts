// Composes the SBOM of a release in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). Pure: the caller lists the
// components.
import type { NpmPackage } from './npm-packages.ts';

export interface Crate {
  readonly name: string;
  readonly version: string;
  readonly licence: string | null;
  /** SHA-256 of the crate as Cargo.lock has it. */
  readonly checksum: string | undefined;
}

/** Part that no registry of packages describes, such as a library inside another part. */
export interface BundledPart {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

export interface SbomInput {
  readonly version: string;
  readonly commit: string;
  readonly npm: readonly NpmPackage[];
  readonly crates: readonly Crate[];
  readonly bundled: readonly BundledPart[];
}

export interface Component {
  readonly type: 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

export function composeSbom({ version, commit, npm, crates, bundled }: SbomInput): object {
  const components = [
    ...npm.map(npmComponent),
    ...crates.map(crateComponent),
    ...bundled.map((part) => component(part, `pkg:generic/${part.name}@${part.version}`, [])),
  ];
  // A package may be in the tree twice.
  const unique = new Map(components.map((entry) => [entry.purl, entry]));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `fairlead@${version}`,
        name: 'fairlead',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        properties: [{ name: 'commit', value: commit }],
      },
    },
    components: [...unique.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
}

function npmComponent({ name, version, licence, integrity }: NpmPackage): Component {
  const digest = integrity === undefined ? undefined : /^sha512-(.+)$/.exec(integrity)?.[1];
  const hashes =
    digest === undefined ? [] : [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }];
  // The at sign of a scope is encoded (https://github.com/package-url/purl-spec).
  return component({ name, version, licence }, `pkg:npm/${name.replace('@', '%40')}@${version}`, hashes);
}

function crateComponent({ name, version, licence, checksum }: Crate): Component {
  const hashes = checksum === undefined ? [] : [{ alg: 'SHA-256', content: checksum }];
  return component({ name, version, licence: licence ?? 'UNKNOWN' }, `pkg:cargo/${name}@${version}`, hashes);
}

function component(part: BundledPart, purl: string, hashes: NonNullable<Component['hashes']>): Component {
  return {
    type: 'library',
    'bom-ref': purl,
    name: part.name,
    version: part.version,
    purl,
    licenses: [describeLicence(part.licence)],
    ...(hashes.length === 0 ? {} : { hashes }),
  };
}

/** An SPDX expression, or else the licence's name as the package spells it. */
export function describeLicence(licence: string): object {
  // `A/B` is cargo's old notation for `A OR B`.
  const expression = licence.replaceAll('/', ' OR ');
  const term = '[A-Za-z0-9.+-]+';
  const isExpression = new RegExp(`^\\(*${term}\\)*(?: (?:AND|OR|WITH) \\(*${term}\\)*)*$`).test(expression);
  return isExpression && expression !== 'UNKNOWN' ? { expression } : { license: { name: licence } };
}
