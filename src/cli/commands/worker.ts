/** `retoma worker`: a worker without the API, for all queues of the config or for those that are named. */
import type { Command } from 'commander'
import { RetomaError } from '../../errors.ts'
import { version } from '../../version.ts'
import { queueSizes } from '../arguments.ts'
import { loadConfig, whyNoJobs } from '../config.ts'
import type { Context } from '../context.ts'
import type { Cli } from '../program.ts'
import { live } from '../service.ts'

export function workerCommand(program: Command, cli: Cli): void {
  const { help } = cli.voice.word
  program
    .command('worker')
    .description(help.worker)
    .option('--queues <list>', help.workerQueues)
    .option('--no-supervise', help.noSupervise)
    .action(cli.action(worker, { quiet: false }))
}

async function worker(context: Context, options: { queues?: string }): Promise<number> {
  const { voice } = context
  const config = await loadConfig(context)
  if (config.jobs.length === 0) throw new RetomaError('no_jobs', { why: whyNoJobs(config) })
  const work = options.queues === undefined ? config.queues : queueSizes(options.queues, config.queues)
  return live(context, config, { alone: false, http: false, work }, ({ where, embedded }) => {
    const { up } = voice.word
    const kinds = config.jobs.filter(job => job.queue in work).map(job => job.kind)
    voice.answer({ data: where, embedded, version, kinds, queues: work }, [
      up.working(version),
      up.data(where, embedded),
      up.queues(sizes(work)),
      up.jobs(kinds.join(', ')),
      up.howToStop,
    ])
  })
}

const sizes = (queues: Readonly<Record<string, number>>) =>
  Object.entries(queues)
    .map(([queue, size]) => `${queue}:${size}`)
    .join(', ')
