/** `retoma schedules`: lists the schedules with the next occurrence and the last job. `run NAME` enqueues the job of a schedule now. */
import type { Command } from 'commander'
import type { ScheduleView } from '../../index.ts'
import { scheduleWire } from '../../json-views.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/values/duration.ts'
import type { Context } from '../command-context.ts'
import { isOwnDatabase, refuseWithoutData, withEngine } from '../command-database.ts'
import { relative, when } from '../format/relative-time.ts'
import { table } from '../format/text-table.ts'
import { loadApps } from '../load-apps.ts'
import { osUser } from '../os-user.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'
import { isTaken } from './jobs/jobs-enqueue.ts'

export function schedulesCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const schedules = program.command('schedules').description(help.schedules).action(cli.action(list))
  schedules.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  schedules.command('run').description(help.schedulesRun).argument('<name>', help.scheduleName).action(cli.action(run))
}

async function list(context: Context): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const { jobs, schedules } = await loadApps(context)
  const found = await withEngine(context, { jobs, schedules }, engine => engine.schedules.list())
  output.answer({ items: found.map(scheduleWire), next: null }, scheduleLines(found, output))
}

async function run(context: Context, name: string): Promise<void> {
  const { output } = context
  const { jobs, schedules } = await loadApps(context)
  // The embedded database belongs to this folder; a shared database is migrated only on request.
  const migrate = await isOwnDatabase(context)
  await withEngine(context, { jobs, schedules, migrate }, async engine => {
    const { id, created } = await engine.schedules.run(name, osUser())
    const { job, options } = schedules.find(each => each.name === name)!
    const { word } = output
    const first = created ? word.schedules.ran(name, id) : word.jobs.held(id, options.key ?? '')
    output.answer({ name, id, created }, [first, word.jobs.see(id)])
    const queue = options.queue ?? job.queue
    if (!(await isTaken({ kind: job.kind, queue }, engine))) output.note(word.jobs.noWorker(queue))
  })
}

/**
 * A process with the schedule enqueues at once when an occurrence is due. A schedule counts as active for minutes after the last such
 * process ended.
 */
const lateMs = 30_000

export function scheduleLines(schedules: readonly ScheduleView[], { word, language }: Output): string[] {
  if (schedules.length === 0) return [word.schedules.none]
  const now = systemClock.now()
  return table(
    word.schedules.columns,
    schedules.map(({ name, kind, recurrence, nextAt, lastAt, lastJob, active, paused }) => [
      name,
      kind,
      'every' in recurrence
        ? word.schedules.every(formatDuration(recurrence.every))
        : `${recurrence.cron} (${recurrence.timeZone})`,
      when(nextAt, now, language),
      lastAt === null ? '' : relative(lastAt, now, language),
      lastJob ?? '',
      paused
        ? word.schedules.paused
        : !active
          ? word.schedules.inactive
          : now.getTime() - nextAt.getTime() > lateMs
            ? word.schedules.late
            : '',
    ]),
  )
}
