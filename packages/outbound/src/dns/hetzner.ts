// Hetzner's Cloud API, version 1, which replaced its DNS Console API, with a token of the project that has the zone.
import { labelOf } from './digitalocean.ts';
import { createJsonApi, listOf, parseJson, refusal, zoneUnknown } from './http.ts';
import type { DnsProvider, TxtRecord } from './provider.ts';

const provider = 'Hetzner';
/** The shortest that it accepts. */
const ttlSeconds = 60;

export function createHetzner(endpoint: string, token: string): DnsProvider {
  const call = createJsonApi(provider, endpoint, token);
  const setOf = ({ zone, name }: TxtRecord) =>
    `/zones/${encodeURIComponent(zone)}/rrsets/${encodeURIComponent(labelOf(name, zone))}/TXT`;

  async function findZone(zone: string): Promise<void> {
    const response = await call('GET', `/zones?name=${encodeURIComponent(zone)}`);
    if (response.status !== 200) throw refusal(provider, response);
    const zones = listOf(parseJson(provider, response), 'zones');
    if (!zones.some(({ name }) => name === zone)) throw zoneUnknown(provider, zone);
  }

  /** Returns true if the name has the value. */
  async function has(record: TxtRecord): Promise<boolean> {
    const response = await call('GET', setOf(record));
    if (response.status === 404) {
      // The zone may be what is missing.
      await findZone(record.zone);
      return false;
    }
    if (response.status !== 200) throw refusal(provider, response);
    const { rrset } = parseJson(provider, response) as { rrset?: unknown };
    return listOf(rrset, 'records').some(({ value }) => value === `"${record.value}"`);
  }

  return {
    findZone,
    putTxt: async (record) => {
      if (await has(record)) return;
      const body = { ttl: ttlSeconds, records: [{ value: `"${record.value}"` }] };
      const response = await call('POST', `${setOf(record)}/actions/add_records`, body);
      if (response.status !== 200 && response.status !== 201) throw refusal(provider, response);
    },
    removeTxt: async (record) => {
      if (!(await has(record))) return;
      const body = { records: [{ value: `"${record.value}"` }] };
      const response = await call('POST', `${setOf(record)}/actions/remove_records`, body);
      if (![200, 201, 404].includes(response.status)) throw refusal(provider, response);
    },
  };
}
