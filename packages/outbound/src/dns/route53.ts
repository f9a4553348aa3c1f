// Amazon Route 53's API of 2013-04-01. A record set holds all values of a name, so a change replaces the set that was read; the
// service refuses it if another change came first.
import { type ApiRequest, type ApiResponse, callApi, refusal, zoneUnknown } from './http.ts';
import type { DnsProvider, TxtRecord } from './provider.ts';
import { type AwsKey, signRequest } from './signature-v4.ts';

const provider = 'Route 53';
const ttlSeconds = 60;
const version = '/2013-04-01';
const namespace = 'https://route53.amazonaws.com/doc/2013-04-01/';
/** The service is global; its requests are signed for this region. */
const region = 'us-east-1';

interface RecordSet {
  readonly ttl: string;
  readonly values: readonly string[];
}

export function createRoute53(endpoint: string, key: AwsKey, now: () => Date): DnsProvider {
  const call = (method: ApiRequest['method'], path: string, body = ''): Promise<ApiResponse> => {
    const url = `${endpoint}${version}${path}`;
    const headers = signRequest({ method, url, body, service: 'route53', region, now: now() }, key);
    return callApi({ provider, method, url, headers, ...(body === '' ? {} : { body }) });
  };

  async function zoneIdOf(zone: string): Promise<string> {
    const response = await call('GET', `/hostedzonesbyname?dnsname=${encodeURIComponent(zone)}&maxitems=10`);
    if (response.status !== 200) throw refusal(provider, response);
    const zones = elementsOf(response.text, 'HostedZone');
    const isZone = (xml: string) => elementOf(xml, 'Name') === `${zone}.` && elementOf(xml, 'PrivateZone') !== 'true';
    const id = /^\/hostedzone\/(\w+)$/.exec(elementOf(zones.find(isZone) ?? '', 'Id'))?.[1];
    if (id === undefined) throw zoneUnknown(provider, zone);
    return id;
  }

  async function readSet(zoneId: string, name: string): Promise<RecordSet | null> {
    const query = `name=${encodeURIComponent(name)}&type=TXT&maxitems=1`;
    const response = await call('GET', `/hostedzone/${zoneId}/rrset?${query}`);
    if (response.status !== 200) throw refusal(provider, response);
    // The list starts at the name, or at the next one that exists.
    const set = elementsOf(response.text, 'ResourceRecordSet')[0] ?? '';
    if (elementOf(set, 'Name') !== `${name}.` || elementOf(set, 'Type') !== 'TXT') return null;
    return { ttl: elementOf(set, 'TTL'), values: elementsOf(set, 'Value') };
  }

  async function replaceValues(
    { zone, name }: TxtRecord,
    next: (values: readonly string[]) => readonly string[],
  ): Promise<void> {
    const zoneId = await zoneIdOf(zone);
    const before = await readSet(zoneId, name);
    const values = next(before?.values ?? []);
    if (values.length === (before?.values.length ?? 0)) return;
    const changes = [
      ...(before === null ? [] : [change('DELETE', name, before)]),
      ...(values.length === 0 ? [] : [change('CREATE', name, { ttl: String(ttlSeconds), values })]),
    ];
    const body = `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="${namespace}"><ChangeBatch><Changes>${changes.join('')}</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;
    const response = await call('POST', `/hostedzone/${zoneId}/rrset/`, body);
    if (response.status !== 200) throw refusal(provider, response);
  }

  return {
    findZone: async (zone) => {
      await zoneIdOf(zone);
    },
    putTxt: (record) => {
      const value = `"${record.value}"`;
      return replaceValues(record, (values) => (values.includes(value) ? values : [...values, value]));
    },
    removeTxt: (record) => replaceValues(record, (values) => values.filter((value) => value !== `"${record.value}"`)),
  };
}

function change(action: 'CREATE' | 'DELETE', name: string, { ttl, values }: RecordSet): string {
  const records = values.map((value) => `<ResourceRecord><Value>${escapeXml(value)}</Value></ResourceRecord>`);
  return `<Change><Action>${action}</Action><ResourceRecordSet><Name>${escapeXml(name)}.</Name><Type>TXT</Type><TTL>${ttl}</TTL><ResourceRecords>${records.join('')}</ResourceRecords></ResourceRecordSet></Change>`;
}

/** Returns the contents of elements without attributes, which is all that these answers have. */
function elementsOf(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, text = '']) =>
    unescapeXml(text),
  );
}

function elementOf(xml: string, name: string): string {
  return elementsOf(xml, name)[0] ?? '';
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}

function unescapeXml(text: string): string {
  // Only text has entities: elements inside of it stay as they are until they are read.
  if (text.includes('<')) return text;
  return Object.entries(entities).reduceRight(
    (plain, [character, entity]) => plain.replaceAll(entity, character),
    text,
  );
}
