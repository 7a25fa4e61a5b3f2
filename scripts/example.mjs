import { join } from 'node:path';
import { become, endWithNpm, ROOT } from './processes.mjs';
import { setupOrExit } from './setup.mjs';

endWithNpm();
await setupOrExit();
await become(join(ROOT, 'examples/field-service/dist/main.js'), process.argv.slice(2));
