import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sourceAliases } from './scripts/source-aliases.mjs';
import { CostReporter } from './scripts/test-cost/reporter.mjs';

/** These files take about a minute each: begun last, one core would be left waiting for them. */
const LONGEST =
  /sim\/src\/(histories|chaos)\/|console\/src\/(console|data)\.test|demo\/src\/demo\.test|many-servers\.test/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Tests run on the sources, so a failure points at the line someone wrote. Only worker threads and
// child processes use what was built, because Node 20 cannot load TypeScript by itself.
export default defineConfig({
  resolve: { alias: sourceAliases() },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'scripts/**/*.test.mjs',
      'bench/src/**/*.test.ts',
      'examples/*/src/**/*.test.ts',
    ],
    // What takes long and is not needed every day; `npm run test:long` runs it.
    exclude: [...configDefaults.exclude, ...(process.env.TIDEMARK_LONG_TESTS === '1' ? [] : ['**/*.long.test.*'])],
    // Loading everything anew for each file took a seventh of the time. So a test leaves nothing behind: what it starts,
    // it ends, and what it changes of the process, it changes back.
    isolate: false,
    setupFiles: ['scripts/test-cost/measure.mjs'],
    reporters: ['default', new CostReporter()],
    sequence: { sequencer: LongestFirst },
    // Many tests wait for the disk, for timers or for child processes: two workers more than there are cores.
    maxWorkers: availableParallelism() + 2,
    // A loaded machine delays the event loop for seconds. Servers under test must not turn requests away because of that.
    env: { TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '600000' },
    // These end a test that hangs. They are no measure of speed: a loaded machine may take ten times as long as a quiet one.
    // A poll ends before its test, so that the failure says what was polled and what was seen last.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    // A title names its case in full.
    chaiConfig: { truncateThreshold: 0 },
  },
});
