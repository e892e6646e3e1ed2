/** `retoma watchdog`: runs the watchdog without a worker; `--once` runs a single pass, for an outside cron. */
import type { Command } from 'commander'
import type { MaintenanceReport } from '../../index.ts'
import { maintenanceReportWire } from '../../json-views.ts'
import { days } from '../../lib/values/duration.ts'
import { version } from '../../version.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { findingLines } from '../format/finding-lines.ts'
import { loadApps } from '../load-apps.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'
import { notifyOf } from '../webhook-settings.ts'

export function watchdogCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word.watch
  program
    .command('watchdog')
    .description(help.watchdog)
    .option('--once', help.watchdogOnce)
    .action((options: { once?: true }, command: Command) =>
      cli.action(options.once ? once : watch, { quiet: options.once === true })(options, command),
    )
}

async function watch(context: Context): Promise<void> {
  const { output } = context
  const loaded = await loadApps(context)
  const { runService } = await import('../service-process.ts')
  await runService(context, loaded, { alone: false, http: false, work: undefined }, ({ where, embedded }) => {
    const { up, watch } = output.word
    output.answer({ data: where, embedded, version }, [watch.watching(version), up.data(where, embedded), up.howToStop])
  })
}

async function once(context: Context): Promise<void> {
  const { output, settings } = context
  await refuseWithoutData(context)
  const { jobs, batches, schedules, guards } = await loadApps(context)
  const options = {
    jobs,
    batches,
    schedules,
    guards,
    retention: days(settings.RETENTION_DAYS),
    notify: notifyOf(settings),
  }
  const passed = await withEngine(context, options, engine => engine.watch({ once: true }))
  output.answer(maintenanceReportWire(passed), passedLines(passed, output))
}

function passedLines(passed: MaintenanceReport, output: Output): string[] {
  const { watch } = output.word
  const done = (['dead', 'recovered', 'timedOut', 'stalled', 'overdue'] as const)
    .filter(what => passed[what].length > 0)
    .map(what => watch[what](few(passed[what])))
  const batches = passed.batches.map(({ id, state, reason }) => watch.batch(id, state, reason.code === 'no_worker'))
  const lines = [...done, ...batches, ...findingLines(passed.findings, output)]
  return lines.length === 0 ? [watch.allIsWell] : lines
}

const few = (ids: readonly string[]): string =>
  `${ids.length} (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`
