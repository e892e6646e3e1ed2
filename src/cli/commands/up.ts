/**
 * `retoma up`: runs everything, in a single process or, with --processes, with workers in further processes, and prints the address, the
 * data folder and the registered jobs. If the config has queues for worker processes only (`workerOnly`) and nobody gave a number of
 * processes, `up` has a second process for these queues.
 */
import type { Command } from 'commander'
import { Supervision } from '../../supervisor/supervision.ts'
import { version } from '../../version.ts'
import { processes } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { type LoadedApps, loadApps } from '../load-apps.ts'
import { whyNoJobs } from '../load-config.ts'
import type { CliMessages } from '../messages/index.ts'
import type { Cli } from '../program.ts'
import type { RunningService } from '../service-process.ts'

export function upCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('up')
    .description(help.up)
    .option('--processes <n>', help.processes, processes)
    .option('--no-supervise', help.noSupervise)
    .action(cli.action(up, { quiet: false }))
}

async function up(context: Context, options: { processes?: number }): Promise<number> {
  const loaded = await loadApps(context)
  // The first process has the API and the data folder; the others only work.
  const supervision = new Supervision()
  const { number, of: count } = supervision.place
  const isFirst = number === 1
  const work = isFirst ? withoutQueues(loaded.queues, loaded.workerOnly) : loaded.queues
  const needsWorker = count === 1 && loaded.workerOnly.length > 0
  const isCountGiven = options.processes !== undefined || Boolean(process.env.RETOMA_PROCESSES?.trim())
  if (needsWorker && (isCountGiven || !supervision.askForSecondProcess()))
    context.output.note(context.output.word.up.workerOnly(loaded.workerOnly.join(', ')))
  const parts = { alone: isFirst, http: isFirst, work, processes: options.processes }
  // Imported on first use: the server takes a third of a command's start time.
  const { runService } = await import('../service-process.ts')
  return runService(context, loaded, parts, running => announce(context, loaded, running, 'up'))
}

const withoutQueues = (queues: Readonly<Record<string, number>>, left: readonly string[]) =>
  Object.fromEntries(Object.entries(queues).filter(([queue]) => !left.includes(queue)))

/** Prints the lines of `up` and `serve` after the start. */
export function announce(context: Context, loaded: LoadedApps, running: RunningService, as: 'up' | 'serving'): void {
  const { output, settings } = context
  const { word, language } = output
  const { where, embedded, open } = running
  const address = running.address ?? ''
  const { config } = loaded
  const systems = loaded.systems.map(each => each.name)
  const made = loaded.simulated
  const kinds = config.jobs.map(job => job.kind)
  const batches = config.batches.map(batch => batch.name)
  const schedules = config.schedules.map(schedule => schedule.name)
  const guards = config.guards.map(guard => guard.name)
  const wire = {
    address,
    data: where,
    embedded,
    version,
    kinds: loaded.jobs.map(job => job.kind),
    systems,
    batches: loaded.batches.map(batch => batch.name),
    schedules: loaded.schedules.map(schedule => schedule.name),
    guards: loaded.guards.map(guard => guard.name),
    queues: loaded.queues,
    simulated: made,
    retention_days: settings.RETENTION_DAYS,
    open,
    ...processesWire(running.share),
  }
  output.answer(wire, [
    word.up[as](version, address),
    word.up.data(where, embedded),
    word.up.jobs(kinds.join(', ') || whyNoJobs(config)[language]),
    ...(batches.length > 0 ? [word.up.batches(batches.join(', '))] : []),
    ...(schedules.length > 0 ? [word.up.schedules(schedules.join(', '))] : []),
    ...(guards.length > 0 ? [word.up.guards(guards.join(', '))] : []),
    ...(systems.length > 0 ? [word.up.systems(systems.join(', '))] : []),
    ...processLine(running.share, word),
    ...simulatedLine(made),
    word.up.retention(settings.RETENTION_DAYS),
    ...(open ? [word.up.open] : []),
    word.up.howToStop,
  ])
}

/** The same in every language, because programs search for this line. */
export const simulatedLine = (providers: readonly string[]): string[] =>
  providers.length === 0 ? [] : [`simulado: ${providers.join(', ')}`]

type Share = RunningService['share']

/** The start line about several processes and their connections. */
export const processLine = (share: Share, { up }: CliMessages): string[] =>
  share === undefined ? [] : [up.processes(share.processes, share.most, share.allowed)]

export const processesWire = (share: Share) =>
  share === undefined ? {} : { processes: share.processes, connections: share.most }
