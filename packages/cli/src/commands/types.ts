import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { withFailures } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { readSources } from '../types/read-sources.ts';
import { staleTypes, TYPES_FORMATS, type TypesFormat, typesText, writeTypes } from '../types/types-file.ts';

interface TypesOptions {
  readonly out?: string;
  readonly check?: boolean;
  readonly format: TypesFormat;
}

export function addTypes(program: Command, cli: Cli): void {
  const command = program
    .command('types')
    .description('Write the types of all sources, made from their schemas')
    .option('--out <file>', 'the file to write; by default the types are printed')
    .option('--check', 'write nothing, and fail if the file is not up to date')
    .addOption(new Option('--format <format>', 'what to write').choices([...TYPES_FORMATS]).default('ts'))
    .action((options: TypesOptions, self: Command) => types(cli, options, self));
  withExamples(
    command,
    'tidemark types --out src/tidemark.ts',
    'tidemark types --out src/tidemark.ts --check',
    'tidemark types --out schemas.json --format json-schema',
  );
}

async function types(cli: Cli, { out, check, format }: TypesOptions, command: Command): Promise<void> {
  if (check === true && out === undefined) throw usageFailure('--check needs the file to check: name it with --out');
  const session = cli.session(command);
  const sources = await withFailures(session, () => readSources(session.api));
  const text = typesText(sources, format);
  if (out === undefined) return session.print.text(text);
  const file = resolve(cli.folder, out);
  if (check === true) return checkFile(cli, { file, out, text });
  const isWritten = writeTypes(file, text);
  if (session.print.isJson) session.print.json({ file, written: isWritten, sources: sources.length });
  else cli.terminal.say(isWritten ? `Wrote ${out}: ${sources.length} sources.` : `${out} is up to date.`);
}

interface CheckedFile {
  readonly file: string;
  /** The file as the user has named it. */
  readonly out: string;
  readonly text: string;
}

function checkFile(cli: Cli, { file, out, text }: CheckedFile): void {
  const places = staleTypes(file, text);
  if (places.length > 0) {
    throw new CliFailure(`${out} is not up to date with the schemas of the sources`, {
      places,
      hint: 'write it again: the same command without --check',
    });
  }
  cli.terminal.say(`${out} is up to date.`);
}
