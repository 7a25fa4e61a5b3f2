import type { Cli } from './cli.ts';
import { usageFailure } from './cli-failure.ts';

export interface DangerousAction {
  /** What is going to happen, as a sentence. */
  readonly warning: string;
  /** What has to be typed: the name of what goes. */
  readonly word: string;
  /** Whoever writes a script has thought about it before. */
  readonly isConfirmed: boolean;
}

/** Nothing that cannot be undone happens by a slip: the name of what goes has to be typed. */
export async function confirm({ terminal }: Cli, { warning, word, isConfirmed }: DangerousAction): Promise<void> {
  if (isConfirmed) return;
  if (!terminal.isInteractive) throw usageFailure(warning, 'confirm with --yes where nobody can be asked');
  terminal.say(warning);
  const answer = await terminal.ask(`Type ${word} to go on: `);
  if (answer.trim() !== word) throw usageFailure('that was something else; nothing was done');
}
