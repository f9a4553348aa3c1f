// Claims the set-up of a dashboard for Ada: `node claim.ts URL TOKEN`, run in the network of the installed machine.
import { ADA, claimSetup } from '../../tools/lib/dashboard-client.ts';

const [url = '', token = ''] = process.argv.slice(2);
console.log(await claimSetup(url, token, ADA));
