// Reports from rows: what may be compared, which winner may be named, and the structure of page and charts.
import type { BenchmarkDocument, BenchmarkDocumentRow } from '@fairlead/core/benchmark/document';
import { publicDocumentOf } from '@fairlead/core/benchmark/public-document';
import { canariesIn, fullOfCanaries } from '@fairlead/core/benchmark/testing';
import { describe, expect, test } from 'vitest';
import { effectsOf } from './event.ts';
import { headlineOf } from './headline.ts';
import { renderImage } from './image.ts';
import { renderMarkdown } from './markdown.ts';
import { renderReport, reportOf } from './page.ts';
import { groupsOf } from './summary.ts';
import { documentOf, peersDocument, type Sample } from './testing.ts';

const OPTIONS = { rowsUrl: 'rows.json', imageUrl: 'https://fairlead.example.test/image.png', isIndexed: false };
const page = (document = peersDocument()) => renderReport(reportOf(document), OPTIONS);
const both = (fairlead: readonly number[], nginx: readonly number[], cpu = [12, 20]): Sample[] => [
  { target: 'fairlead', concurrency: 32, rates: fairlead, cpuUs: cpu[0] ?? null },
  { target: 'nginx', concurrency: 32, rates: nginx, cpuUs: cpu[1] ?? null },
];
const count = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].length;

describe('groups', () => {
  test('rows of different paths, protocols, phases, probes or connection modes are never in one ratio', () => {
    const apart: Partial<BenchmarkDocumentRow>[] = [
      { networkPath: 'unix-socket' },
      { networkPath: null },
      { protocol: 'http2' },
      { connection: 'fresh' },
      { phase: 'event' },
      { probe: 'upload' },
      { scenario: 'greedy' },
    ];
    for (const also of apart) {
      const [fairlead, nginx] = both([100, 100, 100], [50, 50, 50]);
      const document = documentOf([fairlead as Sample, { ...(nginx as Sample), also }]);
      const groups = groupsOf(document);
      expect(groups).toHaveLength(2);
      const ratios = groups.flatMap(({ cells }) => cells.flatMap(({ figures }) => [...figures.values()]));
      expect(ratios.map(({ ratio }) => ratio).filter((ratio) => ratio !== null)).toEqual([]);
    }
  });

  test('a ratio is the median of the ratios of the rounds that both have', () => {
    const samples = both([100, 220, 300], [100, 200, 100]);
    const document = documentOf(samples);
    const rows = document.rows.filter(({ target, round }) => target === 'fairlead' || round !== 2);
    const [group] = groupsOf({ ...document, rows });
    const figure = group?.cells[0]?.figures.get('throughput');
    expect(figure).toMatchObject({ median: 220, ratio: 1.05, ratioInterval: null });
  });

  test('without a baseline of its own, HTTP/2 compares with direct rows over HTTP/1.1', () => {
    const direct = { name: 'direct', label: 'Direct', kind: 'direct' as const };
    const { targets } = documentOf([]);
    const document = documentOf(
      [
        { target: 'fairlead', concurrency: 8, rates: [50, 50, 50], also: { protocol: 'http2' } },
        { target: 'direct', concurrency: 8, rates: [100, 100, 100], cpuUs: null },
      ],
      { baseline: null, targets: [...targets, { ...direct, version: null, configuration: null, networkPath: null }] },
    );
    const [group] = groupsOf(document);
    expect(group).toMatchObject({ protocol: 'http2', baselineProtocol: 'http1' });
    expect(group?.cells[0]?.figures.get('throughput')?.ratio).toBe(0.5);
    expect(headlineOf(groupsOf(document)).text).toContain('times the requests/s of Direct over HTTP/1.1');
  });

  test('an idle connection has a size and no requests per second', () => {
    const idle = groupsOf(peersDocument()).find(({ connection }) => connection === 'idle');
    expect([...(idle?.cells[0]?.figures.keys() ?? [])]).toEqual(['success', 'memory', 'idle']);
    expect(idle?.cells[0]?.figures.get('idle')).toMatchObject({ median: 5600 });
  });
});

test('a logarithmic axis of memory has round figures in MiB and in GiB', () => {
  const mib = 1024 * 1024;
  const [light, heavy] = both([100, 100, 100], [50, 50, 50]) as [Sample, Sample];
  const html = page(
    documentOf([
      { ...light, also: { proxyMemoryBytes: 13 * mib } },
      { ...heavy, also: { proxyMemoryBytes: 2000 * mib } },
      { ...light, concurrency: 2 * light.concurrency, also: { proxyMemoryBytes: 13 * mib } },
    ]),
  );
  const memory = html.slice(html.indexOf('PSS of the proxy, log scale'));
  const labels = [...memory.matchAll(/>([\d.,]+ [MG]iB)<\/text>/g)].map(([, label]) => label);
  expect(labels.slice(0, 6)).toEqual(['4 MiB', '16 MiB', '64 MiB', '256 MiB', '1 GiB', '4 GiB']);
});

describe('an event under load', () => {
  const phase = (name: string, latencyUs: number, errors = 0): Sample => ({
    ...{ target: 'fairlead', concurrency: 64, rates: [1000, 1000, 1000], latencyUs },
    also: { phase: name, errors, failures: errors === 0 ? {} : { closed: errors } },
  });
  const document = documentOf([phase('before', 500), phase('during', 1500, 4), phase('after', 500)]);

  test('has the failed requests and the latency that it added, in pairs of rounds', () => {
    const groups = groupsOf(document);
    expect(groups.map((group) => effectsOf(group, groups).length)).toEqual([0, 1, 0]);
    const [effect] = groups.flatMap((group) => effectsOf(group, groups));
    const [before, during] = [effect?.before, effect?.during].map((cell) => cell?.figures.get('p99')?.median ?? 0);
    expect(effect?.during.errors).toBe(12);
    expect(effect?.p99?.median).toBeCloseTo((during ?? 0) - (before ?? 0));
    expect(effect?.p99?.interval).not.toBeNull();
  });

  test('without rows before it, no effect is claimed', () => {
    const groups = groupsOf(documentOf([phase('during', 1500), phase('after', 500)]));
    expect(groups.flatMap((group) => effectsOf(group, groups))).toEqual([]);
  });

  test('is one table on the page and in Markdown', () => {
    expect(count(page(document), /<table data-event>/g)).toBe(1);
    expect(page(document)).toContain('12 of 6,012<small>closed 12</small>');
    const text = renderMarkdown([{ report: reportOf(document), rowsPath: 'rows.json' }], []);
    expect(count(text, /^\| Target/gm)).toBe(1);
    expect(text).toContain('| Fairlead, 64 clients | 12 of 6,012<br>closed 12 |');
  });
});

describe('Markdown', () => {
  const text = renderMarkdown([{ report: reportOf(peersDocument()), rowsPath: 'rows.json' }], []);

  test('has a narrow table for each metric by concurrency, and one for a single level', () => {
    expect(count(text, /^\| Target \| 32 \| 200 \| 1,000 \|$/gm)).toBe(4);
    const columns = [...text.matchAll(/^\| Target.*$/gm)].map(([head]) => head.split('|').length - 2);
    expect(Math.max(...columns)).toBeLessThanOrEqual(6);
  });

  test('shows median, interval, ratio and caution as lines of a cell', () => {
    const [fairlead, nginx] = both([100, 200, 300], [100, 100, 100]);
    const noisy = documentOf([fairlead as Sample, nginx as Sample]);
    const noted = renderMarkdown([{ report: reportOf(noisy), rowsPath: 'rows.json' }], []);
    expect(noted).toContain('| Fairlead<br>not reproducible | 200<br>100 to 300<br>×2.00 (1.00 to 3.00) |');
  });

  test('text of a document never becomes markup', () => {
    const hostile = '|<img src=x>`*_[a](b)';
    const { targets } = peersDocument();
    const document = { ...peersDocument(), targets: targets.map((target) => ({ ...target, label: hostile })) };
    expect(renderMarkdown([{ report: reportOf(document), rowsPath: 'rows.json' }], [])).not.toMatch(/(?<!\\)<img/);
  });
});

describe('the headline', () => {
  const headline = (samples: readonly Sample[]) => headlineOf(groupsOf(documentOf(samples)));

  test('names the ratio with its interval at the middle concurrency of the longest ladder', () => {
    expect(headlineOf(groupsOf(peersDocument()))).toEqual({
      text: 'Fairlead takes 0.60 times the CPU per request of nginx over HTTP/1.1 at concurrency 200 (95 % interval 0.60 to 0.60).',
      verdict: 'result',
    });
  });

  test('names no winner if the rounds of either side differ too much', () => {
    const wide = headline(both([100, 200, 300], [100, 100, 100], []));
    expect(wide).toMatchObject({ verdict: 'unknown' });
    expect(wide.text).toContain('Not reproducible: the rounds of Fairlead differ by more than 20 %');
    expect(headline(both([100, 100, 100], [100, 200, 300], [])).text).toContain('the rounds of nginx');
  });

  test('names no winner with fewer than three rounds', () => {
    expect(headline(both([100, 100], [50, 50]))).toMatchObject({ verdict: 'unknown' });
    expect(headline(both([100, 100], [50, 50])).text).toContain('to name a winner: 2 of at least 3');
  });

  test('says so if there is no difference beyond the noise', () => {
    const same = headline(both([100, 102, 98], [101, 100, 99], []));
    expect(same).toMatchObject({ verdict: 'same' });
    expect(same.text).toContain('do not differ beyond the noise');
  });

  test('works without rows and without a baseline', () => {
    expect(headline([])).toEqual({ text: 'No rows yet.', verdict: 'unknown' });
    expect(headline([{ target: 'fairlead', concurrency: 8, rates: [100, 100, 100] }]).text).toBe(
      'Fairlead serves 100 requests/s over HTTP/1.1 at concurrency 8.',
    );
  });
});

describe('the page', () => {
  test('draws a line for each target and a point for each level, in each chart', () => {
    const text = page();
    const charts = [...text.matchAll(/<svg[^>]*data-chart="([^"]+)"[\s\S]*?<\/svg>/g)];
    expect(charts.map(([, kind]) => kind)).toEqual(['throughput', 'p99', 'success', 'cpu', 'memory', 'cdf']);
    for (const [svg, kind] of charts) {
      expect([kind, count(svg, /data-series=/g)]).toEqual([kind, 3]);
      expect([kind, count(svg, /class="point/g)]).toEqual([kind, kind === 'cdf' ? 0 : 9]);
      expect([kind, count(svg, /class="band/g)]).toEqual([kind, kind === 'cdf' ? 0 : 3]);
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  test('draws only the latency distribution of a single level, and says that one round has no interval', () => {
    const text = page(documentOf(both([100], [50], [])));
    expect([...text.matchAll(/data-chart="([^"]+)"/g)].map(([, kind]) => kind)).toEqual(['cdf']);
    expect(text).toContain('Figures of one round.');
    expect(text).not.toContain('Medians over rounds');
  });

  test('has a table row for each cell, and a name and a description for each chart', () => {
    const text = page();
    expect(count(text, /<tr><th scope="row">/g)).toBe(9 + 2 + 2);
    expect(count(text, /<table/g)).toBe(3);
    for (const [, id = ''] of text.matchAll(/aria-labelledby="(\S+)-title/g)) {
      expect([
        count(text, new RegExp(`id="${id}-title"`, 'g')),
        count(text, new RegExp(`id="${id}-desc"`, 'g')),
      ]).toEqual([1, 1]);
    }
  });

  test('has no script, no style attribute and no foreign address', () => {
    const text = page();
    expect(text).not.toMatch(/<script|\son\w+=|style="/);
    expect(text).toContain('default-src &#39;none&#39;; style-src &#39;sha256-');
    expect([...text.matchAll(/(?:src|href|content)="(https?:[^"]*)"/g)].map(([, url]) => url)).toEqual([
      OPTIONS.imageUrl,
    ]);
  });

  test('shows method, machine, versions, configurations, what is missing, rows and command', () => {
    const text = page();
    const wanted = [
      'All proxies have two workers.',
      '3 rounds, one after the other',
      'Debian 13, 6.12.0, x64',
      '<summary>nginx nginx 1.2.3</summary><pre>workers 2; # nginx</pre>',
      'tako: in no registry',
      '<a href="rows.json" download>',
      'npm run perf:proxy -- --cells h1_c32',
      '<meta name="robots" content="noindex">',
    ];
    for (const each of wanted) expect(text).toContain(each);
    expect(renderReport(reportOf(peersDocument()), { ...OPTIONS, isIndexed: true })).not.toContain('noindex');
  });

  test('text of a document never becomes markup', () => {
    const hostile = '<img src=x onerror=alert(1)>"\'&';
    const { targets } = peersDocument();
    const document = {
      ...peersDocument(),
      ...{ title: hostile, command: hostile, method: [hostile], scenarios: [{ name: 'ladder', description: hostile }] },
      ...{ notMeasured: [{ target: hostile, scenario: hostile, reason: hostile }] },
      targets: targets.map((target) => ({ ...target, label: hostile, version: hostile, configuration: hostile })),
    };
    expect(page(document)).not.toContain('<img');
  });

  test('marks cells that are not reproducible and saturated generators', () => {
    const [fairlead, nginx] = both([100, 200, 300], [100, 100, 100]);
    const saturated = { ...(nginx as Sample), also: { generatorSaturated: true } };
    const text = page(documentOf([fairlead as Sample, saturated]));
    expect(text).toContain('<small class="caution">not reproducible</small>');
    expect(text).toContain('<small class="caution">generator saturated in 3 of 3</small>');
    expect(text).toContain('See the notes in 2 rows of the tables below');
  });

  test('shows the noise of the machine and marks busy rows', () => {
    const noise = { machineCpuUs: 2_000_000, otherCpuUs: 500_000, stealUs: 10_000, frequencyMhz: null };
    const text = page(documentOf([{ target: 'fairlead', concurrency: 8, rates: [10, 10, 10], also: { noise } }]));
    expect(text).toContain('<small class="caution">machine busy in 3 of 3</small>');
    for (const part of ['Other CPU', '25 %', 'Steal', '0.5 %']) expect(text).toContain(part);
  });

  test('shows failures by kind', () => {
    const text = page(
      documentOf([
        { target: 'fairlead', concurrency: 8, rates: [10], also: { errors: 3, failures: { timeout: 2, '5xx': 1 } } },
      ]),
    );
    expect(text).toContain('3 (timeout 2, 5xx 1)');
  });
});

test('a page, rows and image of a public document have no canary of the run', async () => {
  const open = (document: BenchmarkDocument) => publicDocumentOf(document);
  const refused = (document: BenchmarkDocument) => {
    try {
      open(document);
      return false;
    } catch {
      return true;
    }
  };
  const { rows, ...rest } = peersDocument();
  const full = fullOfCanaries({ ...rest, rows: rows.slice(0, 4) }, refused);
  expect(canariesIn(JSON.stringify(full))).not.toEqual([]);
  const report = reportOf(open(full));
  const image = Buffer.from(await renderImage(report)).toString('latin1');
  for (const text of [renderReport(report, OPTIONS), JSON.stringify(report.document), image]) {
    expect(canariesIn(text.replace(OPTIONS.imageUrl, ''))).toEqual([]);
  }
});

test('the image is a PNG', async () => {
  const image = await renderImage(reportOf(peersDocument()));
  expect([...image.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
});
