import { PassThrough } from 'node:stream';
import type { Device } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { createElement, type ReactNode, StrictMode, Suspense } from 'react';
import { renderToString } from 'react-dom/server';
import { renderToPipeableStream } from 'react-dom/server.node';
import { expect, it } from 'vitest';
import {
  TidemarkProvider,
  useCount,
  useDevice,
  useObject,
  useProblems,
  useQuery,
  useSuspenseQuery,
  useSyncStatus,
  useUploads,
} from './index.ts';

function Everything(): ReactNode {
  const shown = {
    orders: useQuery('Order', { where: { total: { gt: 1 } } }).length,
    suspended: useSuspenseQuery('Order').length,
    count: useCount('Order'),
    object: useObject('Order', '1')?.id ?? null,
    mode: useSyncStatus().mode,
    uploads: useUploads().length,
    problems: useProblems().length,
  };
  return JSON.stringify(shown);
}

function Alone(): ReactNode {
  return useDevice().sourceNames().length;
}

const page = (device: Device | Promise<Device> | null, child: ReactNode) =>
  createElement(StrictMode, null, createElement(TidemarkProvider, { device }, child));

it('[REACT-2] without a device a server renders empty lists, so that hydration begins with the same', () => {
  const html = renderToString(page(null, createElement(Everything))).replaceAll('&quot;', '"');
  expect(html).toBe('{"orders":0,"suspended":0,"count":0,"object":null,"mode":"offline","uploads":0,"problems":0}');
});

it('[REACT-2] a promise of a device suspends what is inside until it is open', async () => {
  const fixture = await newDeviceFixture();
  const device = fixture.open();
  const inside = createElement(Suspense, { fallback: 'opening' }, createElement(Everything));
  const text = await new Promise<string>((resolve, reject) => {
    let html = '';
    const out = new PassThrough().setEncoding('utf8');
    out.on('data', (part: string) => {
      html += part;
    });
    out.on('end', () => resolve(html));
    const { pipe } = renderToPipeableStream(page(device, inside), { onAllReady: () => pipe(out), onError: reject });
  });
  expect(text.replaceAll('&quot;', '"')).toContain('"orders":0');
  await fixture.finish((await device).close());
});

it('[REACT-2] a hook outside of a provider, or a device where there is none, is refused with what is missing', () => {
  expect(() => renderToString(createElement(Alone))).toThrow(/TidemarkProvider/);
  expect(() => renderToString(page(null, createElement(Alone)))).toThrow(/has no device/);
});
