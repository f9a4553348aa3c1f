// Page of one benchmark report: static HTML with inline SVG, without a script.
import type { BenchmarkDocument } from '@fairlead/core/benchmark/document';
import { chartsOf } from './charts.ts';
import { effectsOf, eventTable } from './event.ts';
import { connectionLabel, formatBytes, formatDay, pathLabel, plural, probeLabel, protocolLabel } from './format.ts';
import { HEADLINE_RULE, type Headline, headlineOf } from './headline.ts';
import { html, type Markup, raw } from './markup.ts';
import { drawSample } from './plot.ts';
import { looksOf } from './series.ts';
import { REPORT_POLICY, STYLE } from './style.ts';
import { type Group, groupsOf } from './summary.ts';
import { cautionsOf, resultTable } from './table.ts';

/** A document with its statistics, which take time: make it once. */
export interface Report {
  readonly document: BenchmarkDocument;
  readonly groups: readonly Group[];
  readonly headline: Headline;
}

export function reportOf(document: BenchmarkDocument): Report {
  const groups = groupsOf(document);
  return { document, groups, headline: headlineOf(groups) };
}

export interface PageOptions {
  /** Address of the raw rows, relative to the page or absolute. */
  readonly rowsUrl: string;
  /** Absolute address of the page's image for link previews; null: none. */
  readonly imageUrl: string | null;
  /** True if search engines may list the page. */
  readonly isIndexed: boolean;
  /** Content after the results, such as figures that others published. */
  readonly after?: Markup;
}

export function renderReport({ document, groups, headline }: Report, options: PageOptions): string {
  const looks = looksOf(document.targets);
  const drawn = chartedGroups(groups);
  const description = headline.text;
  return shell({
    title: document.title,
    description,
    imageUrl: options.imageUrl,
    isIndexed: options.isIndexed,
    body: html`<header class="page">${mark()}<h1>${document.title}</h1>
<p class="meta">${formatDay(document.createdAt)}. ${plural(document.rows.length, 'raw row')}. <a href="${options.rowsUrl}" download>Download the rows</a> (JSON).</p>
<p class="headline ${headline.verdict}">${headline.text}</p>${notes(groups)}</header>
<main>
${groups.map((group) => groupSection(group, groups, document, looks, drawn.has(group)))}
${options.after ?? ''}
<section><h2>Method</h2><ul class="method">${methodOf(document).map((line) => html`<li>${line}</li>`)}</ul>${notMeasured(document)}</section>
${machineSection(document)}
${versionsSection(document)}
${again(document)}
</main><footer>Rendered by Fairlead from the raw rows alone. This page has no script.</footer>`,
  });
}

/** Groups with the most levels have charts; beside them, a single level is in its table only. */
function chartedGroups(groups: readonly Group[]): ReadonlySet<Group> {
  const curves = groups.filter(({ levels }) => levels.length > 1);
  return new Set(curves.length > 0 ? curves : groups);
}

function groupTitle({ protocol, connection, networkPath, phase, probe }: Group): string {
  const base = [protocolLabel(protocol), connectionLabel(connection), pathLabel(networkPath), phase];
  const parts = [probe === null ? null : probeLabel(probe), ...base];
  return parts.filter((part) => part !== null).join(', ');
}

/** Heading of a group and the line below it. The scenario comes first if the document has several. */
export function headingOf(group: Group, document: BenchmarkDocument): readonly [string, string] {
  const [title, scenario] = [groupTitle(group), scenarioOf(group, document)];
  const isOne = new Set(document.rows.map((row) => row.scenario)).size <= 1;
  const phase = group.phase === null ? '' : ` (${group.phase})`;
  return isOne ? [title, scenario] : [`${scenario.replace(/\.$/, '')}${phase}`, `${title}.`];
}

function scenarioOf({ scenario }: Group, { scenarios }: BenchmarkDocument): string {
  return scenarios.find(({ name }) => name === scenario)?.description ?? scenario;
}

function groupSection(
  group: Group,
  groups: readonly Group[],
  document: BenchmarkDocument,
  looks: ReturnType<typeof looksOf>,
  isDrawn: boolean,
): Markup {
  const [title, detail] = headingOf(group, document);
  const effects = effectsOf(group, groups);
  const charts = isDrawn ? chartsOf(group, looks) : [];
  return html`<section data-group="${group.key}"><h2>${title}</h2><p class="detail">${detail}</p>${
    effects.length === 0 ? '' : eventTable(effects, `Effects: ${title}`, looks)
  }${
    charts.length > 0
      ? html`<ul class="legend">${group.targets.map((target) => {
          const look = looks.get(target.name);
          return look === undefined ? '' : html`<li>${drawSample(look)}${target.label}</li>`;
        })}</ul><div class="charts">${charts}</div>`
      : ''
  }${resultTable(group, `Results: ${title}. ${detail}`, looks)}</section>`;
}

function notes(groups: readonly Group[]): Markup | '' {
  const cautious = groups.flatMap(({ cells }) => cells).filter((cell) => cautionsOf(cell).length > 0);
  if (cautious.length === 0) return '';
  return html`<p class="note" role="note">Some results are uncertain. See the notes in ${plural(cautious.length, 'row')} of the tables below.</p>`;
}

/** Sentences of the document, and those that every report needs. */
export function methodOf({ method, rows, warmupMs }: BenchmarkDocument): string[] {
  const rounds = Math.max(0, ...rows.map(({ round }) => round + 1));
  const durations = [...new Set(rows.map(({ durationMs }) => durationMs / 1000))].sort((one, other) => one - other);
  const time = durations.length === 0 ? [] : [`Each row measures ${durations.join(' or ')} s.`];
  const warmup = warmupMs === null ? [] : [`Warm-up before each measurement: ${warmupMs / 1000} s.`];
  return [
    ...method,
    `${plural(rounds, 'round')}, one after the other (A B C A B C), so that all targets share the machine's noise.`,
    ...time,
    ...warmup,
    'A figure is the median of its rounds. Its interval is a 95 % bootstrap interval. Bands in charts are the same intervals.',
    'A success is a response with a status from 200 to 299. Success rate = successes ÷ (successes + failures).',
    'Throughput with an interval wider than 20 % of its median is not reproducible.',
    'Rows of different network paths are never compared.',
    HEADLINE_RULE,
  ];
}

function notMeasured({ notMeasured: missing, targets }: BenchmarkDocument): Markup | '' {
  if (missing.length === 0) return '';
  const labelOf = (name: string) => targets.find((target) => target.name === name)?.label ?? name;
  return html`<h3>Not measured</h3><ul class="method">${missing.map(
    ({ target, scenario, reason }) =>
      html`<li>${labelOf(target)}${scenario === null ? '' : ` (${scenario})`}: ${reason}</li>`,
  )}</ul>`;
}

/** Facts of the machine and of the measured release, as pairs of term and value. */
export function factsOf({ facts }: BenchmarkDocument): [string, string][] {
  if (facts === null) return [];
  const { machine, release, configNumber, agentVersion } = facts;
  const cores = plural(machine.cpuCount, 'core');
  const all: [string, string | null][] = [
    ['Processor', machine.cpuModel === undefined ? cores : `${cores}, ${machine.cpuModel}`],
    ['Memory', formatBytes(machine.memoryBytes)],
    ['System', [machine.os, machine.kernel, machine.arch].filter((part) => part !== '').join(', ')],
    ['Agent', agentVersion],
    ['Release', release === null ? null : `#${release.number}`],
    ['Settings', configNumber === null ? null : configNumber === 0 ? 'defaults' : `version ${configNumber}`],
  ];
  return all.flatMap(([term, value]) => (value === null || value === '' ? [] : [[term, value]]));
}

function machineSection(document: BenchmarkDocument): Markup | '' {
  const facts = factsOf(document);
  if (facts.length === 0) return '';
  return html`<section><h2>Hardware and system</h2><dl>${facts.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}

function versionsSection({ targets }: BenchmarkDocument): Markup {
  return html`<section><h2>Versions and configurations</h2>${targets.map(({ label, version, configuration }) =>
    configuration === null
      ? html`<p><b>${label}</b> ${version ?? ''}</p>`
      : html`<details><summary>${label} ${version ?? ''}</summary><pre>${configuration}</pre></details>`,
  )}</section>`;
}

function again({ command }: BenchmarkDocument): Markup | '' {
  return command === null ? '' : html`<section><h2>Run it again</h2><pre>${command}</pre></section>`;
}

export interface Shell {
  readonly title: string;
  readonly description: string;
  readonly imageUrl: string | null;
  readonly isIndexed: boolean;
  readonly body: Markup;
}

export function shell({ title, description, imageUrl, isIndexed, body }: Shell): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="content-security-policy" content="${REPORT_POLICY}">
<title>${title}</title><meta name="description" content="${description}">${isIndexed ? '' : html`<meta name="robots" content="noindex">`}
<meta name="referrer" content="no-referrer">
<meta property="og:type" content="article"><meta property="og:title" content="${title}"><meta property="og:description" content="${description}">${
    imageUrl === null
      ? ''
      : html`<meta property="og:image" content="${imageUrl}"><meta property="og:image:width" content="1200"><meta property="og:image:height" content="630"><meta name="twitter:card" content="summary_large_image">`
  }
<style>${raw(STYLE)}</style></head><body>${body}</body></html>
`.text;
}

export function mark(): Markup {
  return html`<span class="mark"><svg viewBox="0 0 24 24" aria-hidden="true"><path class="ring" d="M16.9 5.6A8 8 0 1 0 19.7 9.8"/><path class="rope" d="M1.75 20.75 5 18M8.3 15.2 22.25 3.25"/></svg>Fairlead benchmark report</span>`;
}
