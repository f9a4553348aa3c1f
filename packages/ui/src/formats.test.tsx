import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { useFormats, ViewerProvider } from './formats.tsx';
import { RelativeTime } from './relative-time.tsx';

function Shown() {
  const { formatInteger, timeZone } = useFormats();
  return `${formatInteger(1234)} ${timeZone}`;
}

test('an account overrides what it has chosen, and the rest is the browser’s', () => {
  const render = (locale: string | null, timeZone: string | null) =>
    renderToStaticMarkup(
      <ViewerProvider locale="de-DE" timeZone="Europe/Berlin">
        <ViewerProvider locale={locale} timeZone={timeZone}>
          <Shown />
        </ViewerProvider>
      </ViewerProvider>,
    );
  expect(render(null, null)).toBe('1.234 Europe/Berlin');
  expect(render('en-US', null)).toBe('1,234 Europe/Berlin');
  expect(render(null, 'Asia/Kolkata')).toBe('1.234 Asia/Kolkata');
});

test('a relative time shows the viewer’s zone and UTC on hover', () => {
  const html = renderToStaticMarkup(
    <ViewerProvider locale="de-DE" timeZone="Asia/Kolkata">
      <RelativeTime at={new Date('2026-11-28T15:05:56Z')} />
    </ViewerProvider>,
  );
  expect(html).toContain('title="28.11.2026, 20:35:56 GMT+5:30\n2026-11-28 15:05:56 UTC"');
});
