import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { usageFailure } from '../cli-failure.ts';
import { differencesBetween } from './compare-types.ts';
import type { DescribedSource } from './described-source.ts';
import { jsonSchemaText } from './json-schema.ts';
import { openApiText } from './openapi.ts';
import { typescriptText } from './typescript.ts';
import { MARK } from './written-file.ts';
import { zodText } from './zod.ts';

const TEXTS = { ts: typescriptText, 'json-schema': jsonSchemaText, zod: zodText, openapi: openApiText } as const;

export type TypesFormat = keyof typeof TEXTS;
export const TYPES_FORMATS = Object.keys(TEXTS) as readonly TypesFormat[];

/** Returns the text of a file with the types of these sources. */
export function typesText(sources: readonly DescribedSource[], format: TypesFormat): string {
  return TEXTS[format](sources);
}

/** Returns what differs between a file and the types of the sources, a sentence each; nothing: it is up to date. */
export function staleTypes(file: string, text: string): readonly string[] {
  return existsSync(file) ? differencesBetween(readFileSync(file, 'utf8'), text) : ['the file does not exist'];
}

/**
 * Writes the file unless it says the same already, however it is formatted. Returns whether it has written. A file that somebody
 * else has written is refused.
 */
export function writeTypes(file: string, text: string): boolean {
  if (staleTypes(file, text).length === 0) return false;
  if (existsSync(file) && !readFileSync(file, 'utf8').includes(MARK)) {
    throw usageFailure(`${file} was not written by tidemark types`, 'name another file with --out, or remove it');
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return true;
}
