import type { Cli } from './cli.ts';
import { usageFailure } from './cli-failure.ts';

export interface DangerousAction {
  /** A sentence that says what will happen. */
  readonly warning: string;
  /** The name that the user must type. */
  readonly word: string;
  /** True for `--yes`: scripts are not asked. */
  readonly isConfirmed: boolean;
}

/** Asks the user to type the name of what will be deleted, so that nothing irreversible happens by mistake. */
export async function confirm({ terminal }: Cli, { warning, word, isConfirmed }: DangerousAction): Promise<void> {
  if (isConfirmed) return;
  if (!terminal.isInteractive) throw usageFailure(warning, 'confirm with --yes where nobody can be asked');
  terminal.say(warning);
  const answer = await terminal.ask(`Type ${word} to go on: `);
  if (answer.trim() !== word) throw usageFailure('that was something else; nothing was done');
}
