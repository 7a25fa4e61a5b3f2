import { expect, it } from 'vitest';
import type { Platform } from '../ports/platform.ts';
import { explainFailure, noAnswer } from './explain-failure.ts';

it('[SDK-40] a page asks for its origin to be listed only at the server of another origin', async () => {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return new Response();
  };
  const cause = new TypeError('Failed to fetch');
  const explain = (pageOrigin: string | undefined) => {
    const network = { pageOrigin, isOnline: () => true, onChange: () => () => undefined };
    const platform = { network, fetch } as unknown as Platform;
    return explainFailure(platform, 'https://sync.example/base', cause, new AbortController().signal);
  };
  const unlisted = 'is there, but does not list the origin of this page: add https://app.example to its setting';
  expect(await explain('https://app.example')).toContain(unlisted);
  expect(asked).toEqual(['https://sync.example/base/healthz']);
  for (const origin of ['https://sync.example', undefined]) {
    expect(await explain(origin)).toBe(noAnswer('https://sync.example/base', cause));
  }
  expect(asked).toHaveLength(1);
});
