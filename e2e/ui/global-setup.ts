// Starts the product as a user does, in a scratch folder, and tells the tests where it is by environment variables.
import { startProduct } from '../../tools/lib/running-product.ts';

export default async function globalSetup(): Promise<() => Promise<void>> {
  const agent = process.env.FAIRLEAD_E2E_AGENT;
  const product = await startProduct(agent === undefined ? {} : { agent });
  process.env.FAIRLEAD_E2E_URL = product.url;
  process.env.FAIRLEAD_E2E_TOKEN = product.setupToken ?? '';
  process.env.FAIRLEAD_E2E_HTTPS_PORT = String(product.ports.https);
  process.env.FAIRLEAD_E2E_CA = product.caFile;
  return () => product.stop();
}
