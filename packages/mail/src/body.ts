// Renders a mail as plain text and as HTML.
// Invariant: a name in it never becomes markup.
import type { Mail } from './mailer.ts';

export function toText(mail: Mail): string {
  const action = mail.action === undefined ? [] : [`${mail.action.label}: ${mail.action.url}`];
  return `${[...mail.paragraphs, ...action].join('\n\n')}\n`;
}

export function toHtml(mail: Mail): string {
  const paragraphs = mail.paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`);
  const action =
    mail.action === undefined
      ? []
      : [
          `<p><a href="${escapeHtml(mail.action.url)}">${escapeHtml(mail.action.label)}</a></p>`,
          `<p>${escapeHtml(mail.action.url)}</p>`,
        ];
  return `<!doctype html><html><body style="font-family:sans-serif;line-height:1.5">${[...paragraphs, ...action].join('')}</body></html>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
