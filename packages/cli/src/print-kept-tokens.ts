import type { Cli } from './cli.ts';

interface KeptToken {
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly string[];
}

/** Prints which tokens stay valid after a change of password, and how to revoke them. */
export function printKeptTokens(cli: Cli, tokens: readonly KeptToken[]): void {
  if (tokens.length === 0) return;
  cli.terminal.say('These named tokens are still good, because programs may depend on them:');
  for (const { id, name, scopes } of tokens) cli.terminal.say(`  ${id}  ${name ?? ''}  (${scopes.join(', ')})`);
  cli.terminal.say('End one with tidemark tokens revoke <id>, or all of them with --revoke-tokens.');
}
