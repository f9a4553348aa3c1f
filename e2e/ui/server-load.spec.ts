// Browser tests of a benchmark with load servers: the form, the run with the part of each server, a saved plan, and a run that
// fails. Runs after product.spec.ts. The load servers are fake agents, which send no requests.
import { create, fromBinary } from '@bufbuild/protobuf';
import {
  type BenchmarkPlan,
  BenchmarkProtocol,
  type BenchmarkRow,
  BenchmarkRowSchema,
  BenchmarkTarget,
  DesiredStateSchema,
  ReportSchema,
  WorkState,
} from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { createFakeAgent, LinkEnded, type OpenFakeLink } from '@fairlead/testkit';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
/** Three rows of a second each, with three seconds before their start. */
const MEASURED = { timeout: 60_000 };

let page: Page;
let ada: Dashboard;
let east: LoadServer;
let west: LoadServer;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  east = await addLoadServer('load-east', { requests: 300, latencyUs: 2000, cpuUs: 450_000, isSaturated: false });
  west = await addLoadServer('load-west', { requests: 100, latencyUs: 9000, cpuUs: 1_960_000, isSaturated: true });
});
test.afterAll(async () => {
  for (const server of [east, west]) {
    await server.close();
    await ada.call('server.delete', { serverId: server.id, confirmName: server.name }, ORGANIZATION);
  }
  await page.context().close();
});

/** Figures that a load server reports for each row. */
interface Share {
  readonly requests: number;
  readonly latencyUs: number;
  readonly cpuUs: number;
  readonly isSaturated: boolean;
}

interface LoadServer {
  readonly id: string;
  readonly name: string;
  /** Reason of its next part's failure; empty if the part succeeds. */
  failure: string;
  close(): Promise<void>;
}

/** Adds a server whose agent is ready at once, and reports its share when a row has a start. */
async function addLoadServer(name: string, share: Share): Promise<LoadServer> {
  const url = process.env.FAIRLEAD_E2E_URL ?? '';
  const { command } = await ada.call<{ command: string }>('server.enrol', { name }, ORGANIZATION);
  const token = /FAIRLEAD_ENROL_TOKEN='([^']+)'/.exec(command)?.[1] ?? '';
  const script = await (await fetch(`${url}/install/agent.sh`)).text();
  const control = /control_url='http([^']+)'/.exec(script)?.[1] ?? '';
  const capabilities = ['benchmark', 'benchmark.distributed', 'benchmark.load', 'uninstall'] as const;
  const agent = createFakeAgent({ url: `ws${control}`, capabilities });
  const { serverId } = await agent.enrol(token);
  const link = await agent.connect(serverId);
  const server: LoadServer = {
    id: serverId,
    name,
    failure: '',
    close: async () => {
      await link.close();
      await answering;
    },
  };
  const answering = answer(link, server, share).catch((error: unknown) => {
    if (!(error instanceof LinkEnded)) throw error;
  });
  return server;
}

/** Answers each desired state. Rejects when the link ends. */
async function answer(link: OpenFakeLink, server: LoadServer, share: Share): Promise<never> {
  const measured = new Map<string, BenchmarkRow[]>();
  for (let reportId = 1n; ; reportId += 1n) {
    link.send({ case: 'sync', value: {} });
    const { benchmarks, version } = fromBinary(DesiredStateSchema, (await link.next('state')).state);
    const statuses = benchmarks.map((plan) => {
      const rows = measured.get(plan.runId) ?? [];
      measured.set(plan.runId, rows);
      const { row = 0, startUnixUs = 0n } = plan.part ?? {};
      if (startUnixUs > 0n && rows.length === row) rows.push(rowOf(plan, share));
      const failed = { state: WorkState.FAILED, failure: { code: 'benchmark.failed', message: server.failure } };
      return { runId: plan.runId, state: WorkState.RUNNING, rowsReady: row + 1, rows, ...(server.failure && failed) };
    });
    const report = { reportId, ...(version === undefined ? {} : { applied: version }), benchmarks: statuses };
    link.send({ case: 'report', value: create(ReportSchema, report) });
    await link.next('desired');
  }
}

function rowOf({ part, concurrency, durationMs }: BenchmarkPlan, share: Share): BenchmarkRow {
  const { requests, latencyUs, cpuUs, isSaturated } = share;
  const [clients = 0] = concurrency;
  return create(BenchmarkRowSchema, {
    ...{ position: part?.row ?? 0, round: part?.row ?? 0, concurrency: clients, clients, durationMs },
    ...{ target: BenchmarkTarget.PROXY, protocol: BenchmarkProtocol.HTTP1, startUnixUs: part?.startUnixUs ?? 0n },
    ...{ requests: BigInt(requests), generatorCpuUs: BigInt(cpuUs), generatorSaturated: isSaturated },
    latency: histogramToWire({ counts: new Map([[bucketIndex(latencyUs), requests]]), sumUs: requests * latencyUs }),
  });
}

/** Opens the form, and fills in a plan of three short rows for both load servers. */
async function fillForm() {
  await page.goto(`/${ORGANIZATION}/benchmarks?start=hello`);
  const dialog = page.getByRole('dialog', { name: 'Start benchmark' });
  await dialog.getByLabel('Concurrency').fill('1');
  await dialog.getByLabel('Seconds per row').selectOption('1');
  await dialog.getByLabel('Rounds').selectOption('3');
  await dialog.getByLabel('HTTP/2').uncheck();
  const servers = dialog.getByRole('group', { name: 'Load servers' });
  await expect(dialog.getByLabel('Direct')).toBeChecked();
  await servers.getByLabel('load-east').check();
  await servers.getByLabel('load-west').check();
  return { dialog, servers, start: dialog.getByRole('button', { name: 'Start', exact: true }) };
}

test('the form offers the other servers, and hides targets that they can not measure', async () => {
  const { dialog, servers, start } = await fillForm();
  await expect(servers.getByLabel('local', { exact: true })).toHaveCount(0);
  // Load servers can't reach an instance.
  await expect(dialog.getByLabel('Direct')).toHaveCount(0);
  await expect(servers.getByRole('alert')).toContainText('Choose a concurrency of at least 2.');
  await start.click();
  await expect(servers.getByRole('alert')).toBeFocused();
  await checkAppearance(page);
  await dialog.getByLabel('Concurrency').fill('5');
  await expect(servers.getByRole('alert')).toHaveCount(0);
  await expect(dialog.getByText('Takes about 13.5 s.')).toBeVisible();
  await start.click();
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
});

test('the run shows the part of each server, and marks a saturated generator', async () => {
  await expect(page.getByText('load from load-east, load-west', { exact: false })).toBeVisible();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible(MEASURED);
  const servers = page.getByRole('region', { name: 'Servers' });
  const cells = (name: string) => servers.getByRole('row').filter({ hasText: name }).getByRole('cell');
  await expect(cells('local').nth(1)).toHaveText('App');
  const part = async (name: string) =>
    (await cells(name).allInnerTexts()).slice(1, 7).map((text) => text.replaceAll(/\s+/g, ' '));
  expect(await part('load-east')).toEqual(['Load', '75 %', '900', '0', '2.02', '0.45']);
  expect(await part('load-west')).toEqual(['Load', '25 %', '300', '0', '8.96', '1.96 saturated']);
  await expect(
    page.getByText('The load generator of load-west was saturated in all 3 rows', { exact: false }),
  ).toBeVisible();
  const results = page.getByRole('region', { name: 'Results' });
  await expect(results.getByRole('row').last()).toContainText(/2\.41\s*saturated/);
  await expect(page.getByText('Network path: Between servers.', { exact: false })).toBeVisible();
  await checkAppearance(page);
});

test('a plan is saved with its load servers, and starts with them from the list', async () => {
  const { dialog, servers } = await fillForm();
  await dialog.getByLabel('Concurrency').fill('5');
  await dialog.getByRole('button', { name: 'Save as plan' }).click();
  await dialog.getByLabel('Plan name').fill('Shared load');
  await dialog.getByRole('button', { name: 'Save plan' }).click();
  const chosen = dialog.getByLabel('Plan', { exact: true });
  await expect(chosen).toHaveValue(/^bpl_/);
  // With other load servers, the form no longer holds the saved plan until it is chosen again.
  await servers.getByLabel('load-west').uncheck();
  await expect(chosen).toHaveValue('');
  await chosen.selectOption('Shared load');
  await expect(servers.getByLabel('load-west')).toBeChecked();

  await page.goto(`/${ORGANIZATION}/benchmarks/plans`);
  const row = page.getByRole('row').filter({ hasText: 'Shared load' });
  await expect(row).toContainText('Load from load-east, load-west');
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Actions for Shared load' }).click();
  await page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
  const edit = page.getByRole('dialog', { name: 'Edit Shared load' });
  await edit.getByRole('group', { name: 'Load servers' }).getByLabel('load-west').uncheck();
  await checkAppearance(page);
  await edit.getByRole('button', { name: 'Save plan' }).click();
  await expect(row).not.toContainText('load-west');

  await row.getByRole('link', { name: 'Shared load' }).click();
  await expect(servers.getByLabel('load-east')).toBeChecked();
  await expect(servers.getByLabel('load-west')).not.toBeChecked();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page.getByText('Plan Shared load', { exact: true })).toBeVisible();
  await expect(page.getByText('load from load-east', { exact: false })).toBeVisible();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible(MEASURED);
});

test('a load server that fails ends the run, and the page names it', async () => {
  west.failure = 'Only 1 of its 2 clients got a response before the start.';
  const { dialog, start } = await fillForm();
  await dialog.getByLabel('Concurrency').fill('5');
  await start.click();
  await expect(page.getByRole('alert').filter({ hasText: 'load-west: Only 1 of its 2 clients' })).toBeVisible(MEASURED);
  await expect(page.getByText('Failed', { exact: true })).toBeVisible();
  await checkAppearance(page);
});
