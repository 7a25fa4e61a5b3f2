import { TidemarkError } from '@tidemark/backend';
import type { Config } from '@tidemark/server/config/config';
import { ConfigProblem } from '@tidemark/server/config/config-problem';
import { readVersion } from '@tidemark/server/version';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import {
  type Check,
  checkDisk,
  checkDurability,
  checkFolder,
  checkListenQueue,
  checkNode,
  checkOccupants,
  checkOwner,
  printChecks,
} from '../local/checks.ts';

export function addDoctor(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('doctor'))
    .description('Check whether a server can run well on this machine')
    .option('--dry-run-push', 'check with the push services that the keys are valid; no device gets a message')
    .action(async ({ dryRunPush }: { readonly dryRunPush?: boolean }, self: Command) => {
      printChecks(cli, self, await examine(cli, self, dryRunPush === true));
    });
  withExamples(
    command,
    'tidemark doctor',
    'tidemark doctor --data /var/lib/tidemark --json',
    'tidemark doctor --dry-run-push',
  );
}

async function examine(cli: Cli, command: Command, isPushAsked: boolean): Promise<readonly Check[]> {
  // Loaded on demand: the help must not wait for the dependencies of the push services.
  const { checkPush } = await import('../local/check-push.ts');
  const { checkConnectors } = await import('../local/check-connectors.ts');
  const { checks, config } = checkConfig(cli, command);
  return [
    checkNode(),
    ...checks,
    ...(config === null ? [] : await folderChecks(config.dataFolder)),
    ...(config === null ? [] : await checkListenQueue(config.listenBacklog)),
    ...(config === null ? [] : await checkPush(config.ping, isPushAsked)),
    ...(config === null ? [] : await checkConnectors(config.connectors)),
    ...(await checkServer(cli, command)),
  ];
}

function checkConfig(
  cli: Cli,
  command: Command,
): { readonly checks: readonly Check[]; readonly config: Config | null } {
  const name = 'configuration';
  try {
    const { config, warnings } = configOf(command, cli, { readsConnectors: true });
    const warned = warnings.map(({ detail }): Check => ({ name, status: 'warning', detail }));
    const valid: Check = { name, status: 'ok', detail: 'is valid' };
    return { checks: warned.length === 0 ? [valid] : warned, config };
  } catch (error) {
    if (!(error instanceof ConfigProblem)) throw error;
    const checks = error.problems.map(({ detail }): Check => ({ name, status: 'failed', detail }));
    return { checks, config: null };
  }
}

async function folderChecks(folder: string): Promise<readonly Check[]> {
  const data = await checkFolder(folder);
  const disk = await checkDisk(folder);
  // A folder that cannot be written to cannot be measured either.
  if (data.status === 'failed') return [data, disk];
  return [data, ...checkOwner(folder), disk, await checkDurability(folder), await checkOccupants(folder)];
}

/** Reports a running server of another version. No running server is no problem. */
async function checkServer(cli: Cli, command: Command): Promise<readonly Check[]> {
  const url = cli.url(command);
  const name = 'server';
  try {
    const { version } = await cli.transport(command, null).get<{ readonly version: string }>('/version');
    const isSame = version === readVersion();
    const detail = `version ${version} answers at ${url}${isSame ? '' : `; this program is ${readVersion()}`}`;
    return [
      { name, status: isSame ? 'ok' : 'warning', detail },
      ...(await checkBackend(cli, command)),
      ...(await checkSignIn(cli, command)),
    ];
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return [{ name, status: 'ok', detail: `none answers at ${url}` }];
  }
}

/** Asks the server to check its backend, if there is a token that may do so. */
async function checkBackend(cli: Cli, command: Command): Promise<readonly Check[]> {
  const name = 'backend';
  const url = cli.url(command);
  if (cli.token(url) === null) {
    return [{ name, status: 'ok', detail: `not looked at; tidemark login --url ${url} lets doctor do so` }];
  }
  try {
    const { checks } = await cli.session(command).api.system.checkAppserver();
    return checks.map((check) => ({ ...check, name: `${name} ${check.name}` }));
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return [{ name, status: 'warning', detail: `could not be looked at: ${error.message}` }];
  }
}

/** Shows who confirms sign-ins of devices, in order. Only callers with a token may know. */
async function checkSignIn(cli: Cli, command: Command): Promise<readonly Check[]> {
  const token = cli.token(cli.url(command));
  if (token === null) return [];
  const name = 'sign-in';
  try {
    const { sign_in: order } = await cli
      .transport(command, token)
      .get<{ readonly sign_in?: readonly string[] }>('/readyz');
    if (order === undefined) return [];
    return [{ name, status: 'ok', detail: `devices are checked by ${order.join(', then ')}` }];
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return [{ name, status: 'warning', detail: `could not be looked at: ${error.message}` }];
  }
}
