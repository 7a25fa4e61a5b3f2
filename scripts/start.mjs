import { join } from 'node:path';
import { become, endWithNpm, ROOT } from './processes.mjs';
import { setupOrExit } from './setup.mjs';

endWithNpm();
await setupOrExit();
await become(join(ROOT, 'packages/server/dist/main.js'), process.argv.slice(2));
