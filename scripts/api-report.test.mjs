import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { reportOf, reportProblems } from './api-report.mjs';

it('[DOCS-87] the reports of the public APIs in the repository are those of the packages', () => {
  expect(reportProblems()).toEqual([]);
});

it('[DOCS-87] a report has what is exported, sorted, and the types that it names, without comments and private parts', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  const files = {
    'index.d.ts': `export type { Text } from '@tidemark/protocol';
export { open, type Options as OpenOptions } from './open.ts';
export { Boat } from './boat.ts';
`,
    'open.d.ts': `import type { Colour } from './colour.ts';
export interface Options {
    /** The colour of the boat. */
    readonly colour?: Colour;
}
/** Opens it. */
export declare function open(name: string): Boat;
export declare function open(options: Options): Boat;
export declare function unused(): void;
`,
    'colour.d.ts': "export type Colour = 'red' | 'blue';\n",
    'boat.d.ts': `import type { Hull } from './hull.ts';
export declare class Boat {
    #private;
    constructor(hull: Hull);
    sail(): void;
}
`,
    'hull.d.ts': 'export interface Hull {\n    readonly wood: string;\n}\n',
    'more.d.ts': "export { Boat } from './boat.ts';\nexport declare const SAILS = 2;\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  const entries = [
    ['boats', 'index.d.ts'],
    ['boats/more', 'more.d.ts'],
  ];
  const report = reportOf(
    'boats',
    entries.map(([entry, file]) => [entry, join(folder.path, file)]),
  );
  expect(report).toBe(`The public API of boats, written by \`node scripts/api-report.mjs --write\`.

## boats

class Boat {
    constructor(…);
    sail(): void;
}

as OpenOptions:
interface Options {
    readonly colour?: Colour;
}

Text: see @tidemark/protocol

function open(name: string): Boat;
function open(options: Options): Boat;

## boats/more

Boat: see boats

const SAILS = 2;

## Types that these name

type Colour = 'red' | 'blue';
`);
});
