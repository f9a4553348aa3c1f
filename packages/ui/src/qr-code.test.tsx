import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { QrCode } from './qr-code.tsx';

test('dark modules are on a white background in every theme', () => {
  const svg = renderToStaticMarkup(<QrCode value="otpauth://totp/x" label="QR code" />);
  expect(svg).toMatch(/<rect width="(\d+)" height="\1" fill="white"><\/rect><path [^>]*fill="black"/);
});
