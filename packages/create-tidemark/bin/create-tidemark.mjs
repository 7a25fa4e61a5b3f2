#!/usr/bin/env node

// `npm create tidemark my-app` does what `tidemark init my-app` does.
process.argv.splice(2, 0, 'init');
await import(new URL('../bin/tidemark.mjs', import.meta.resolve('@tidemark/cli')).href);
