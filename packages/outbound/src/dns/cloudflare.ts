// Cloudflare's API, version 4, with a token that may edit DNS of the zone.
import { createJsonApi, listOf, parseJson, refusal, zoneUnknown } from './http.ts';
import type { DnsProvider, TxtRecord } from './provider.ts';

const provider = 'Cloudflare';
const ttlSeconds = 60;
/** Code of the error for a record that is there already. */
const identicalRecord = [81057, 81058];

export function createCloudflare(endpoint: string, token: string): DnsProvider {
  const call = createJsonApi(provider, endpoint, token);

  async function zoneIdOf(zone: string): Promise<string> {
    const response = await call('GET', `/zones?name=${encodeURIComponent(zone)}`);
    if (response.status !== 200) throw refusal(provider, response);
    const found = listOf(parseJson(provider, response), 'result').find(({ name }) => name === zone);
    if (found === undefined) throw zoneUnknown(provider, zone);
    return String(found.id);
  }

  return {
    findZone: async (zone) => {
      await zoneIdOf(zone);
    },
    putTxt: async ({ zone, name, value }) => {
      const path = `/zones/${await zoneIdOf(zone)}/dns_records`;
      const response = await call('POST', path, { type: 'TXT', name, content: `"${value}"`, ttl: ttlSeconds });
      if (response.status === 200) return;
      const errors = listOf(parseJson(provider, response), 'errors');
      if (!errors.some(({ code }) => identicalRecord.includes(Number(code)))) throw refusal(provider, response);
    },
    removeTxt: async (record) => {
      const path = `/zones/${await zoneIdOf(record.zone)}/dns_records`;
      const response = await call('GET', `${path}?type=TXT&name=${encodeURIComponent(record.name)}&per_page=100`);
      if (response.status !== 200) throw refusal(provider, response);
      for (const found of listOf(parseJson(provider, response), 'result').filter(isRecord(record))) {
        const removed = await call('DELETE', `${path}/${encodeURIComponent(String(found.id))}`);
        if (removed.status !== 200 && removed.status !== 404) throw refusal(provider, removed);
      }
    },
  };
}

/** The API returns the content with or without quotation marks. */
function isRecord({ name, value }: TxtRecord) {
  return (found: Readonly<Record<string, unknown>>) =>
    found.name === name && (found.content === value || found.content === `"${value}"`);
}
