// DigitalOcean's API, version 2, with a token that may read and write domains.
import { createJsonApi, listOf, parseJson, refusal, zoneUnknown } from './http.ts';
import type { DnsProvider, TxtRecord } from './provider.ts';

const provider = 'DigitalOcean';
/** The shortest that it accepts. */
const ttlSeconds = 30;

export function createDigitalOcean(endpoint: string, token: string): DnsProvider {
  const call = createJsonApi(provider, endpoint, token);
  const pathOf = (zone: string) => `/domains/${encodeURIComponent(zone)}`;

  async function findIds({ zone, name, value }: TxtRecord): Promise<readonly string[]> {
    const response = await call(
      'GET',
      `${pathOf(zone)}/records?type=TXT&name=${encodeURIComponent(name)}&per_page=200`,
    );
    if (response.status === 404) throw zoneUnknown(provider, zone);
    if (response.status !== 200) throw refusal(provider, response);
    const records = listOf(parseJson(provider, response), 'domain_records');
    return records.filter(({ data }) => data === value).map(({ id }) => String(id));
  }

  return {
    findZone: async (zone) => {
      const response = await call('GET', pathOf(zone));
      if (response.status === 404) throw zoneUnknown(provider, zone);
      if (response.status !== 200) throw refusal(provider, response);
    },
    putTxt: async (record) => {
      // It would store the same record a second time.
      if ((await findIds(record)).length > 0) return;
      const { zone, name, value } = record;
      const body = { type: 'TXT', name: labelOf(name, zone), data: value, ttl: ttlSeconds };
      const response = await call('POST', `${pathOf(zone)}/records`, body);
      if (response.status !== 201) throw refusal(provider, response);
    },
    removeTxt: async (record) => {
      for (const id of await findIds(record)) {
        const response = await call('DELETE', `${pathOf(record.zone)}/records/${encodeURIComponent(id)}`);
        if (response.status !== 204 && response.status !== 404) throw refusal(provider, response);
      }
    },
  };
}

/** Returns the name within its zone; `@` for the zone itself. */
export function labelOf(name: string, zone: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1);
}
