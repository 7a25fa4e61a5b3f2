import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inTemporaryFolder, runTool } from './run-tool.ts';

interface Finding {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}

/** Returns the findings of Redocly's strictest standard rules for an OpenAPI document. Uses no network. */
export function lintDocument(document: object): Promise<readonly string[]> {
  return inTemporaryFolder(async (folder) => {
    const linter = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js');
    writeFileSync(join(folder, 'redocly.yaml'), 'extends: [recommended-strict]\n');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
    const { stdout, stderr } = await runTool(linter, ['lint', 'openapi.json', '--format=json'], folder);
    // Without a report the linter itself failed; its output says why.
    if (!stdout.trimStart().startsWith('{')) throw new Error(`the linter gave no report: ${stderr}`);
    const { problems } = JSON.parse(stdout) as { readonly problems: readonly Finding[] };
    return problems.map(({ ruleId, message, location }) => `${location[0]?.pointer ?? ''} ${ruleId}: ${message}`);
  });
}
