import { inspectRecord } from '@tidemark/core/verify';
import { errorMessage } from '@tidemark/protocol';
import { openFolder } from '../open-engines.ts';

// Recomputes the embedded store in the folder named on the command line, and writes every finding as a line of JSON. A
// damaged file can take the process that reads it down with it, so `find-damage.ts` starts this one for the purpose.
const [, , dataFolder] = process.argv;
if (dataFolder === undefined) throw new Error('which folder?');

const DENIED = /^Permission denied|^Operation not permitted/;

const store = await openFolder(dataFolder).catch((error: NodeJS.ErrnoException) => {
  const { name, message, code, path } = error;
  // A folder that may not be opened, or is none of Tidemark's, is no damage.
  const isDenied = code === 'EACCES' || code === 'EPERM' || DENIED.test(message);
  if (isDenied || name === 'UnusableFolder') say({ failure: { name, message, code, path } });
  else tellUnreadable(error);
  return null;
});
if (store !== null) {
  try {
    for await (const finding of store.verify(inspectRecord)) say({ finding });
    say({ isDone: true });
  } catch (error) {
    tellUnreadable(error);
  }
  await store.close();
}

function tellUnreadable(error: unknown): void {
  const reason = errorMessage(error);
  const detail = `the file cannot be read to its end: ${reason}; restore a backup`;
  say({ finding: { partition: null, problem: 'unreadable', detail } });
  say({ isDone: true });
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
