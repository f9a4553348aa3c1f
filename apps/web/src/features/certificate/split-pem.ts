// Divides the text of dropped files into the chain and the private key. Pure.

export interface SplitPem {
  readonly chainPem: string;
  readonly keyPem: string;
}

export function splitPem(text: string): SplitPem {
  const blocks = text.match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g) ?? [];
  const isKey = (block: string) => /^-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(block);
  return {
    chainPem: blocks.filter((block) => block.startsWith('-----BEGIN CERTIFICATE-----')).join('\n'),
    keyPem: blocks.filter(isKey).join('\n'),
  };
}
