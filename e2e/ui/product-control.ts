// Lets the specs, which run in another process, restart the product of the run with further settings.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type ProductSettings = Readonly<Record<string, string>>;

export interface ProductControl {
  readonly url: string;
  close(): Promise<void>;
}

/** `restart`: resolves when the product is up with these settings beside its own. */
export async function startProductControl(
  restart: (settings: ProductSettings) => Promise<void>,
): Promise<ProductControl> {
  const server = createServer(async (request, response) => {
    try {
      await restart(JSON.parse(await text(request)) as ProductSettings);
      response.end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

/** Restarts the product. Its data, ports and sessions stay. */
export async function restartProduct(settings: ProductSettings): Promise<void> {
  const url = process.env.FAIRLEAD_E2E_PRODUCT ?? '';
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(settings) });
  if (!response.ok) throw new Error(`the product did not restart: ${await response.text()}`);
}
