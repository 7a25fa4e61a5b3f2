import { execFile } from 'node:child_process';
import { temporaryFolder } from '../kit/temporary-folder.ts';

const TOOL_MS_MAX = 120_000;
const OUTPUT_BYTES_MAX = 16 * 2 ** 20;

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a JavaScript program in a folder, which is also its home, so that it writes nothing elsewhere. */
export function runTool(program: string, args: readonly string[], folder: string): Promise<ToolRun> {
  const options = {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
    timeout: TOOL_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
  };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });
}

/** Does work in a temporary folder and removes it. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const { path, remove } = await temporaryFolder();
  try {
    return await work(path);
  } finally {
    await remove();
  }
}
