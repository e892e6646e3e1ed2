/**
 * Formats a batch for a person, part by part; `batch show`, `batch watch`, `batch list` and `status` combine the parts. Nothing here
 * reads the database or prints.
 *
 * Invariant: the bar is full and the percentage 100 only if every item is in a final state.
 */

import type { BatchView } from '../../index.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { oneDecimal, whole } from '../../lib/values/format-number.ts'
import type { CliMessages } from '../messages/index.ts'
import type { Output } from '../output.ts'
import { ago } from './relative-time.ts'
import { type Cell, table } from './text-table.ts'

/** The maximum width of a line. */
export const page = 80

export function stateSentence(batch: BatchView, { word }: Output): string {
  const { state } = word.batch
  const { code } = batch.reason ?? { code: '' }
  switch (batch.state) {
    case 'submitting':
      return state.submitting(batch.total)
    case 'paused':
      return pausedSentence(batch.reason, state)
    case 'stalled':
      return code === '' || code === 'no_progress' ? state.stalled : state.stalledBecause(code)
    case 'failed':
      return code === '' || code === 'resumes_spent' ? state.failed(batch.resumes) : state.failedBecause(code)
    case 'succeeded':
      return batch.total === 0 ? state.empty : state.succeeded
    case 'completed_with_failures':
      return state.completedWithFailures(batch.failed, batch.cancelled)
    case 'cancelled':
      return batch.following ? state.cancelling : state.cancelled
    default:
      return state[batch.state]
  }
}

function pausedSentence(reason: BatchView['reason'], state: CliMessages['batch']['state']): string {
  if (reason === null || reason.code === 'person') return state.pausedByPerson
  if (reason.code === 'stop_after') return state.pausedByPolicy(Number(reason.failed), Number(reason.ended))
  const words = String(reason.message ?? reason.code)
  if (reason.code === 'same_cause') return state.pausedBecause(words)
  return typeof reason.provider === 'string'
    ? state.pausedByProvider(reason.provider, words)
    : state.pausedBecause(words)
}

const endedOf = ({ succeeded, failed, skipped, cancelled }: BatchView): number =>
  succeeded + failed + skipped + cancelled

/** `[█████░░░░░]  50.2 %  1,004 of 2,000`; '' without items. */
export function progressText(batch: BatchView, width: number, { word, language }: Output): string {
  if (batch.percent === null) return ''
  const filled = Math.floor((endedOf(batch) * width) / batch.total)
  const bar = `[${'█'.repeat(filled)}${'░'.repeat(width - filled)}]`
  const counted = batch.state === 'submitting' ? word.batch.soFar : word.batch.of
  const numbers = counted(whole(endedOf(batch), language), whole(batch.total, language))
  return `${bar}  ${percentText(batch, language)}  ${numbers}`
}

/** The counts above 0, final states first. */
export const countsText = (batch: BatchView, { word }: Output): string =>
  countParts(batch, word).join(', ') || word.batch.noItems

/** The same for wrapping: a number stays with its word. */
export const countsToWrap = (batch: BatchView, { word }: Output): string =>
  countParts(batch, word)
    .map(part => part.replaceAll(' ', '\u00a0'))
    .join(', ') || word.batch.noItems

function countParts(batch: BatchView, word: CliMessages): string[] {
  const { counts } = word.batch
  const states = Object.keys(counts) as (keyof typeof counts)[]
  return states.filter(state => batch[state] > 0).map(state => counts[state](batch[state]))
}

/** `41.3 items/s`, `2.5 items/h`; '' if unknown. */
export const rateText = ({ rate }: BatchView, { word, language }: Output): string =>
  rate === null ? '' : word.batch.rate(...rateIn(rate, language))

/** Per second, per minute or per hour: the first with a value of at least 1, otherwise per hour. */
function rateIn(rate: number, language: Output['language']): [number: string, unit: string] {
  const [number, unit] = rate >= 1 ? [rate, 's'] : rate * 60 >= 1 ? [rate * 60, 'min'] : [rate * 3600, 'h']
  return [number >= 100 ? whole(Math.round(number), language) : oneDecimal(number, language), unit]
}

/** `41.3 items/s, about 24 s left`, as far as known. */
export const paceText = (batch: BatchView, output: Output): string =>
  [rateText(batch, output), batch.etaSeconds === null ? '' : output.word.batch.left(spanText(batch.etaSeconds))]
    .filter(Boolean)
    .join(', ')

/** The ref of the last item with an ended attempt, and the time since then; '' if there is none. */
export function lastText({ lastRef, progressAt }: BatchView, now: Date, { word, language }: Output): string {
  if (progressAt === null) return ''
  const at = ago(progressAt, now, language)
  return lastRef === null ? at : word.batch.last(short(lastRef, 40), at)
}

/** Many batches, with a line each; if the lines are too wide, the creation time is left out, then names are cut. */
export function batchTable(batches: readonly BatchView[], now: Date, { word, language }: Output): string[] {
  const right = (text: string): Cell => ({ right: text })
  const draw = (columns: readonly string[], longestName: number, fit?: number) =>
    table(
      columns,
      batches.map(batch => [
        batch.id,
        short(batch.name, longestName),
        batch.state,
        right(percentText(batch, language)),
        right(whole(batch.total, language)),
        right(whole(batch.failed, language)),
        right(batch.rate === null ? '' : rateIn(batch.rate, language).join('/')),
        right(batch.etaSeconds === null ? '' : spanText(batch.etaSeconds, 1)),
        ago(batch.createdAt, now, language),
      ]),
      fit === undefined ? {} : { fit },
    )
  const { columns } = word.batch
  const fewer = columns.slice(0, -1)
  const fits = (lines: string[]) => lines.every(line => line.length <= page)
  return [draw(columns, 20), draw(fewer, 20)].find(fits) ?? draw(fewer, 10, page)
}

/** `50.2 %`; '' without items. */
export const percentText = ({ percent }: BatchView, language: Output['language']): string =>
  percent === null ? '' : `${oneDecimal(percent, language)} %`

/** A name or ref, cut to leave room for the rest of the line. */
export const short = (text: string, longest = 20): string => {
  const [line = ''] = text.split('\n', 1)
  return [...line].length > longest || line !== text ? `${[...line].slice(0, longest - 1).join('')}…` : line
}
