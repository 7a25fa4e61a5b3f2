import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { baseImage } from './image.mjs';
import { ROOT } from './processes.mjs';

it('[DEPLOY-23] node scripts/image.mjs makes the base image that deploy/Dockerfile names in all its stages', () => {
  const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const base = { name: 'node:22-bookworm-slim', node: '22', debian: 'bookworm' };
  expect(baseImage(dockerfile)).toEqual(base);
  expect(() => baseImage('FROM node:22-bookworm-slim AS build\nFROM node:24-bookworm-slim\n')).toThrow(
    /one base image/,
  );
  expect(() => baseImage('FROM alpine\n')).toThrow('got alpine');
});
