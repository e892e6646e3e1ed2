/**
 * Runs any command of this checkout: `npm run -s retoma -- jobs list`. Set-up first, then the command line in the
 * same process, so a signal to this process reaches the command.
 */
import { inRoot } from './lib/paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

await setup({ build: true }).catch(giveUp)
process.argv[1] = inRoot('dist', 'cli', 'main.js')
await import('../dist/cli/main.js')
