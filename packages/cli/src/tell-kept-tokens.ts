import type { Cli } from './cli.ts';

interface KeptToken {
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly string[];
}

/** Says which tokens a new password has left good, and how they are ended. */
export function tellKeptTokens(cli: Cli, tokens: readonly KeptToken[]): void {
  if (tokens.length === 0) return;
  cli.terminal.say('These named tokens are still good, because programs may depend on them:');
  for (const { id, name, scopes } of tokens) cli.terminal.say(`  ${id}  ${name ?? ''}  (${scopes.join(', ')})`);
  cli.terminal.say('End one with tidemark tokens revoke <id>, or all of them with --revoke-tokens.');
}
