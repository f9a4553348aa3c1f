// Facts of an installation with an updater and a feed that offers a newer release.
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpdateFacts } from '@fairlead/core/fairlead-update';
import { signedRelease } from '@fairlead/core/testing';

export interface TestFeed {
  readonly version: string;
  readonly facts: UpdateFacts & { readonly updaterFolder: string };
}

export async function newTestFeed(): Promise<TestFeed> {
  const version = '0.2.0';
  const { publicKey, read } = signedRelease({ version });
  const updaterFolder = await mkdtemp(join(tmpdir(), 'fairlead-updater-'));
  await mkdir(join(updaterFolder, 'requests'));
  const feed = 'https://releases.example.com';
  return { version, facts: { current: '0.1.0', feed, readFeedFile: read, publicKeys: [publicKey], updaterFolder } };
}
