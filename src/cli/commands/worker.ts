/** `retoma worker`: runs workers without the API, for all queues of the config or for the given queues. */
import type { Command } from 'commander'
import { RetomaError } from '../../errors/errors.ts'
import { version } from '../../version.ts'
import { processes, queueSizes } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { loadApps } from '../load-apps.ts'
import { whyNoJobs } from '../load-config.ts'
import type { Cli } from '../program.ts'
import { processesWire, processLine, simulatedLine } from './up.ts'

export function workerCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('worker')
    .description(help.worker)
    .option('--queues <list>', help.workerQueues)
    .option('--processes <n>', help.processes, processes)
    .option('--no-supervise', help.noSupervise)
    .action(cli.action(worker, { quiet: false }))
}

async function worker(context: Context, options: { queues?: string; processes?: number }): Promise<number> {
  const { output } = context
  const loaded = await loadApps(context)
  if (loaded.jobs.length === 0) throw new RetomaError('no_jobs', { why: whyNoJobs(loaded.config) })
  const work = options.queues === undefined ? loaded.queues : queueSizes(options.queues, loaded.queues)
  const { runService } = await import('../service-process.ts')
  const parts = { alone: false, http: false, work, processes: options.processes }
  return runService(context, loaded, parts, running => {
    const { where, embedded, share } = running
    const { up } = output.word
    const kinds = loaded.jobs.filter(job => Object.hasOwn(work, job.queue)).map(job => job.kind)
    const made = loaded.simulated
    const wire = { data: where, embedded, version, kinds, queues: work, simulated: made, ...processesWire(share) }
    output.answer(wire, [
      up.working(version),
      up.data(where, embedded),
      up.queues(sizes(work)),
      up.jobs(kinds.join(', ')),
      ...processLine(share, output.word),
      ...simulatedLine(made),
      up.howToStop,
    ])
  })
}

const sizes = (queues: Readonly<Record<string, number>>) =>
  Object.entries(queues)
    .map(([queue, size]) => `${queue}:${size}`)
    .join(', ')
