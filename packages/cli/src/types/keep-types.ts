import { errorMessage } from '@tidemark/protocol';
import type { DescribedSource } from './described-source.ts';
import { typesText, writeTypes } from './types-file.ts';

/** How often the schemas are read. */
const LOOK_MS = 500;

export interface KeptTypes {
  readonly file: string;
  /** The file as the user has named it. */
  readonly shown: string;
  readonly read: () => Promise<readonly DescribedSource[]>;
  readonly say: (line: string) => void;
  /** Calls back after a pause, and returns what cancels that. */
  readonly later?: (action: () => void) => () => void;
}

/** Writes the types of the sources into a file, again whenever a schema changes. Returns what ends that. */
export function keepTypes({ file, shown, read, say, later = afterPause }: KeptTypes): () => void {
  let isEnded = false;
  let cancel = () => {};
  /** The problem that was said last. It is said once, not at every look. */
  let problem: string | null = null;
  const write = async () => {
    const text = typesText(await read(), 'ts');
    if (!isEnded && writeTypes(file, text)) say(`Wrote ${shown}.`);
    problem = null;
  };
  const look = async () => {
    await write().catch((error: unknown) => {
      const detail = errorMessage(error);
      if (detail !== problem && !isEnded) say(`warning: the types in ${shown} are not written: ${detail}`);
      problem = detail;
    });
    if (!isEnded) cancel = later(() => void look());
  };
  void look();
  return () => {
    isEnded = true;
    cancel();
  };
}

function afterPause(action: () => void): () => void {
  const timer = setTimeout(action, LOOK_MS);
  return () => clearTimeout(timer);
}
