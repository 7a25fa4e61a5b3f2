import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inTemporaryFolder, runTool } from './run-tool.ts';

/** The compiler of the repository. The generator needs an older one, installed in this package. */
const COMPILER = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));

/** A minimal client: an operation, its parameters and its body, typed by the generated types. */
const CLIENT = `import type { operations } from './api.js';

type Body<Id extends keyof operations> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Content } };
}
  ? { body: Content }
  : unknown;
type Input<Id extends keyof operations> = Pick<operations[Id]['parameters'], 'path' | 'query'> & Body<Id>;

declare function call<Id extends keyof operations>(id: Id, input: Input<Id>): void;

`;

/**
 * Generates types from an OpenAPI document and compiles calls with them, each a TypeScript statement that uses `call`.
 * Returns those that do not compile.
 */
export function callsThatDoNotCompile(document: object, calls: readonly string[]): Promise<readonly string[]> {
  return inTemporaryFolder(async (folder) => {
    const described = createRequire(import.meta.url).resolve('openapi-typescript/package.json');
    const generator = join(dirname(described), 'bin/cli.js');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
    const made = await runTool(generator, ['openapi.json', '--output', 'api.d.ts'], folder);
    if (made.code !== 0) throw new Error(`no types could be generated: ${made.stderr}`);
    writeFileSync(join(folder, 'calls.ts'), CLIENT + calls.join('\n'));
    const compilation = ['--noEmit', '--strict', '--module', 'nodenext', '--pretty', 'false', 'calls.ts', 'api.d.ts'];
    const { stdout } = await runTool(COMPILER, compilation, folder);
    return failedCalls(stdout, calls);
  });
}

function failedCalls(output: string, calls: readonly string[]): readonly string[] {
  const before = CLIENT.split('\n').length - 1;
  const lines = output.split('\n').filter((line) => line.includes('error TS'));
  const failed = new Set(lines.map((line) => Number(/^calls\.ts\((\d+),/.exec(line)?.[1] ?? Number.NaN) - 1 - before));
  const named = [...failed].map((index) => calls[index]);
  if (named.some((call) => call === undefined)) throw new Error(`more than the calls does not compile: ${output}`);
  return calls.filter((call) => named.includes(call));
}
