/** `retoma serve`: runs the API and the watchdog; workers run elsewhere. */
import type { Command } from 'commander'
import type { Context } from '../command-context.ts'
import { loadApps } from '../load-apps.ts'
import type { Cli } from '../program.ts'
import { announce } from './up.ts'

export function serveCommand(program: Command, cli: Cli): void {
  program
    .command('serve')
    .description(cli.output.word.help.serve)
    .action(cli.action(serve, { quiet: false }))
}

async function serve(context: Context): Promise<number> {
  const loaded = await loadApps(context)
  const parts = { alone: false, http: true, work: undefined }
  const { runService } = await import('../service-process.ts')
  return runService(context, loaded, parts, running => announce(context, loaded, running, 'serving'))
}
