// Image of a report for link previews: title, headline and the throughput curves.

import { scaleLinear, scaleLog } from 'd3-scale';
import { line } from 'd3-shape';
import { ImageResponse } from 'next/og.js';
import { formatDay } from './format.ts';
import { middleLevel } from './headline.ts';
import { THROUGHPUT } from './metrics.ts';
import type { Report } from './page.ts';
import { looksOf } from './series.ts';

const SIZE = { width: 1200, height: 630 };
const CHART = { width: 1080, height: 220 };
const COLORS = { orange: '#d95f0b', blue: '#2f6fd6', teal: '#12857f', violet: '#7c45d6', grey: '#6d7585' };

/** Returns a PNG. */
export async function renderImage(report: Report): Promise<Uint8Array<ArrayBuffer>> {
  const { document, headline } = report;
  const text = (fontSize: number, color: string, children: string) => ({
    type: 'div',
    props: { style: { fontSize, color, lineClamp: 3, display: 'block' }, children },
  });
  const chart = chartOf(report);
  const image = new ImageResponse(
    // Elements as plain objects: this package has no JSX, because Node runs it as it is.
    element({
      style: {
        ...{ display: 'flex', flexDirection: 'column', width: '100%', height: '100%', padding: 60, gap: 22 },
        ...{ background: '#ffffff', borderTop: '14px solid #f97a22' },
      },
      children: [
        text(28, '#4b5361', `Fairlead benchmark report, ${formatDay(document.createdAt)}`),
        text(44, '#161b24', document.title),
        text(32, '#161b24', headline.text),
        ...(chart === null ? [] : [{ type: 'img', props: { src: chart, ...CHART } }, legendOf(report)]),
      ],
    }),
    SIZE,
  );
  return new Uint8Array(await image.arrayBuffer());
}

function element(props: object): ConstructorParameters<typeof ImageResponse>[0] {
  return { type: 'div', props, key: null } as ConstructorParameters<typeof ImageResponse>[0];
}

function legendOf({ document }: Report) {
  const looks = looksOf(document.targets);
  const entry = (color: string, children: string) => ({ type: 'div', props: { style: { color }, children } });
  const entries = document.targets.map(({ name, label }) => entry(COLORS[looks.get(name)?.color ?? 'grey'], label));
  return {
    type: 'div',
    props: {
      style: { display: 'flex', gap: 24, fontSize: 22 },
      children: [entry('#626a78', 'Requests/s by concurrency:'), ...entries],
    },
  };
}

/** Curves of the first group that has some; null without one. It has no text, because the image's fonts don't reach it. */
function chartOf({ document, groups }: Report): string | null {
  const group = groups.find(({ levels, connection }) => levels.length > 1 && connection !== 'idle');
  if (group === undefined || middleLevel(group) === undefined) return null;
  const points = (name: string) =>
    group.cells.flatMap(({ target, concurrency, figures }) => {
      const figure = target.name === name ? figures.get(THROUGHPUT.id) : undefined;
      return figure === undefined ? [] : [[concurrency, figure.median] as const];
    });
  const all = group.targets.flatMap(({ name }) => points(name));
  const [lowest = 1, highest = 1] = [group.levels[0], group.levels.at(-1)];
  const x = scaleLog([Math.max(1, lowest), highest], [6, CHART.width - 6]);
  const y = scaleLinear([0, Math.max(1, ...all.map(([, value]) => value))], [CHART.height - 4, 6]);
  const path = line<readonly [number, number]>(
    ([concurrency]) => x(concurrency),
    ([, value]) => y(value),
  );
  const looks = looksOf(document.targets);
  const lines = group.targets.map(({ name }) => {
    const look = looks.get(name);
    return `<path d="${path(points(name))}" fill="none" stroke="${COLORS[look?.color ?? 'grey']}" stroke-width="5" stroke-dasharray="${look?.dash ?? ''}"/>`;
  });
  const base = `<path d="M0 ${CHART.height - 2}H${CHART.width}" stroke="#98a1b0" stroke-width="2"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${CHART.width}" height="${CHART.height}">${base}${lines.join('')}</svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
