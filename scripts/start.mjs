/** `npm start`: set-up, then `retoma up`, both in this process. */
process.argv.splice(2, 0, 'up')
await import('./retoma.mjs')
