// `npm start`: the command `tidemark serve` under a shorter name.
process.argv.splice(2, 0, 'serve');
await import('./cli/main.ts');
