/** `retoma up`: everything in one process, and the lines that say where and with what. */
import type { Command } from 'commander'
import { simulated } from '../../settings/index.ts'
import { version } from '../../version.ts'
import { type LoadedConfig, loadConfig, whyNoJobs } from '../config.ts'
import type { Context } from '../context.ts'
import type { Cli } from '../program.ts'
import { live, type Running } from '../service.ts'

export function upCommand(program: Command, cli: Cli): void {
  const { help } = cli.voice.word
  program
    .command('up')
    .description(help.up)
    .option('--no-supervise', help.noSupervise)
    .action(cli.action(up, { quiet: false }))
}

async function up(context: Context): Promise<number> {
  const config = await loadConfig(context)
  const parts = { alone: true, http: true, work: config.queues }
  return live(context, config, parts, running => announce(context, config, running, 'up'))
}

/** What `up` and `serve` say once they run. */
export function announce(context: Context, config: LoadedConfig, running: Running, as: 'up' | 'serving'): void {
  const { voice, settings } = context
  const { word, language } = voice
  const { where, embedded, open } = running
  const address = running.address ?? ''
  const made = simulated(settings)
  const kinds = config.jobs.map(job => job.kind)
  const batches = config.batches.map(batch => batch.name)
  const schedules = config.schedules.map(schedule => schedule.name)
  const guards = config.guards.map(guard => guard.name)
  const wire = {
    address,
    data: where,
    embedded,
    version,
    kinds,
    batches,
    schedules,
    guards,
    queues: config.queues,
    simulated: made,
    retention_days: settings.RETENTION_DAYS,
    open,
  }
  voice.answer(wire, [
    word.up[as](version, address),
    word.up.data(where, embedded),
    word.up.jobs(kinds.join(', ') || whyNoJobs(config)[language]),
    ...(batches.length > 0 ? [word.up.batches(batches.join(', '))] : []),
    ...(schedules.length > 0 ? [word.up.schedules(schedules.join(', '))] : []),
    ...(guards.length > 0 ? [word.up.guards(guards.join(', '))] : []),
    // This line is the same in every language: programs look for it.
    ...(made.length > 0 ? [`simulado: ${made.join(', ')}`] : []),
    word.up.retention(settings.RETENTION_DAYS),
    ...(open ? [word.up.open] : []),
    word.up.howToStop,
  ])
}
