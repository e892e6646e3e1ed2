/** Formats the results of guards for a terminal: a run, a dry run, and the list with each last run. */

import type { GuardRun, GuardView, RowKey } from '../../index.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/values/duration.ts'
import type { Output } from '../output.ts'
import { relative, when } from './relative-time.ts'
import { brief, table } from './text-table.ts'

const shown = 5

export function runLines({ name, table: of, dryRun, marked, rows, set, jobs }: GuardRun, output: Output): string[] {
  const { guards } = output.word
  const title = name === 'one-off' ? of : `${name} (${of})`
  const first = dryRun ? guards.would(title, marked) : guards.marked(title, marked)
  if (marked === 0) return [first]
  return [
    first,
    ...Object.entries(set).map(([column, value]) => `  ${column} = ${value ?? 'null'}`),
    ...(jobs > 0 ? [guards.jobs(jobs)] : []),
    guards.oldest,
    ...rows.slice(0, shown).map(each => `  ${rowLine(each, output)}`),
    ...(dryRun ? [guards.dryRun] : []),
  ]
}

/** `id=17, since 2030-01-31 08:00:00 (11 min. ago)` */
const rowLine = ({ key, signalAt }: { key: RowKey; signalAt: Date }, { word, language }: Output): string =>
  `${keyText(key)}, ${word.guards.since(when(signalAt, systemClock.now(), language))}`

const keyText = (key: RowKey): string =>
  Object.entries(key)
    .map(([column, value]) => `${column}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')

export function guardLines(guards: readonly GuardView[], { word, language }: Output): string[] {
  if (guards.length === 0) return [word.guards.none]
  const now = systemClock.now()
  const state = ({ lastError, active, late, lastSweepAt, warnings }: GuardView) => {
    if (lastError !== null) return brief(lastError[language], 120)
    if (lastSweepAt === null) return word.guards.never
    if (!active) return late ? word.guards.late : word.guards.inactive
    return warnings.length > 0 ? word.guards.seeWarning : ''
  }
  return table(
    word.guards.columns,
    guards.map(each => [
      each.name,
      each.table,
      `${each.status.column} = ${each.status.running.join(' | ')}`,
      `${each.signal.join(', ')} > ${formatDuration(each.after)}`,
      word.schedules.every(formatDuration(each.every)),
      each.lastSweepAt === null ? '' : relative(each.lastSweepAt, now, language),
      each.lastMarked,
      each.total,
      state(each),
    ]),
  )
}
