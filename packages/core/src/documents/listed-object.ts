import { nameText } from '../journal/json-text.ts';
import { readRecord } from '../journal/record.ts';

/** Returns an object of a list as JSON text, with the seqs at which its attributes changed. */
export function listedObject(record: string, seq: number): string {
  const { id, attributes, marks } = readRecord(record, seq);
  const changed = [...marks.touched, ...marks.gone].map(([name, at]) => `${nameText(name)}:${at}`);
  const head = `"id":${JSON.stringify(id)},"seq":${seq},"created_seq":${marks.born}`;
  return `{${head},"changed":{${changed.join(',')}},"attributes":${attributes.text}}`;
}
