/** `retoma serve`: the API and the watchdog; workers run elsewhere. */
import type { Command } from 'commander'
import { loadConfig } from '../config.ts'
import type { Context } from '../context.ts'
import type { Cli } from '../program.ts'
import { live } from '../service.ts'
import { announce } from './up.ts'

export function serveCommand(program: Command, cli: Cli): void {
  program
    .command('serve')
    .description(cli.voice.word.help.serve)
    .action(cli.action(serve, { quiet: false }))
}

async function serve(context: Context): Promise<number> {
  const config = await loadConfig(context)
  const parts = { alone: false, http: true, work: undefined }
  return live(context, config, parts, running => announce(context, config, running, 'serving'))
}
