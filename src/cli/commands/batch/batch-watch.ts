/**
 * Watches a batch until the batch is over: in a final state, or `stalled`, which waits for a person. Called by `batch show --watch`.
 *
 * Invariant: nothing is shown after a stop signal. An unreachable database is reported and waited for; any other error ends the watch,
 * including a removed batch.
 */
import { isFinalBatch } from '../../../batches/model/batch-state.ts'
import { isRetomaError, type RetomaError } from '../../../errors/errors.ts'
import type { BatchView } from '../../../index.ts'
import { batchWire } from '../../../json-views.ts'
import type { Clock } from '../../../lib/clock.ts'
import { spanText } from '../../../lib/values/format-duration.ts'
import {
  countsText,
  lastText,
  paceText,
  page,
  percentText,
  progressText,
  stateSentence,
} from '../../format/batch-lines.ts'
import { local } from '../../format/relative-time.ts'
import { createScreen, type Terminal } from '../../format/terminal-screen.ts'
import { wrap } from '../../format/text-table.ts'
import { asRetomaError, type Output } from '../../output.ts'

export interface Display {
  seen(batch: BatchView, now: Date): void
  away(error: RetomaError, forMs: number, now: Date): void
  /** The next output is the result. */
  over(): void
  /** A stop signal came. */
  left(): void
}

const againMs = 1000

/** Returns undefined if a stop signal came first. */
export async function watchBatch(given: {
  read: () => Promise<BatchView>
  display: Display
  clock: Clock
  asked: AbortSignal
}): Promise<BatchView | undefined> {
  const { read, display, clock, asked } = given
  for (let awaySince: number | undefined; ; ) {
    const found = await read().catch(error => {
      if (!asked.aborted && !passes(error)) throw error
      return asRetomaError(error)
    })
    if (!asked.aborted && isRetomaError(found)) {
      awaySince ??= clock.elapsed()
      display.away(found, clock.elapsed() - awaySince, clock.now())
    } else if (!asked.aborted) {
      awaySince = undefined
      display.seen(found as BatchView, clock.now())
      if (isOver(found as BatchView)) return found as BatchView
    }
    await clock.sleep(againMs, asked)
    if (asked.aborted) {
      display.left()
      return undefined
    }
  }
}

const isOver = ({ state }: BatchView): boolean => isFinalBatch(state) || state === 'stalled'

/** A transient error: the database is away, starts, or has no free connection. */
const passes = (error: unknown): boolean =>
  isRetomaError(error) ? error.retryable : /^(40|53|57)/.test(String((error as { code?: unknown } | null)?.code))

/** The maximum width of the text beside the bar. */
const besideBar = 36

/** Redraws in the same place of the terminal. */
export function drawnOn(terminal: Terminal, output: Output): Display {
  const { word, language } = output
  const screen = createScreen(terminal)
  const barWidth = () => Math.max(Math.min((terminal.columns ?? page) - besideBar, 40), 10)
  let last: BatchView | undefined
  const block = (batch: BatchView, now: Date) =>
    [
      ...wrap(
        `${word.batch.labels.batch} ${word.batch.named(batch.id, batch.name)}: ${stateSentence(batch, output)}`,
        page - 1,
      ),
      progressText(batch, barWidth(), output),
      countsText(batch, output),
      [paceText(batch, output), lately(batch, now)].filter(Boolean).join('; '),
      batch.state === 'paused' ? word.batch.stillPaused(batch.id) : '',
    ].filter(Boolean)
  const lately = (batch: BatchView, now: Date) =>
    batch.progressAt === null ? '' : `${word.batch.labels.last} ${lastText(batch, now, output)}`
  return {
    seen(batch, now) {
      last = batch
      // A batch that is over is printed as the result, in place of the drawn block.
      if (!isOver(batch)) screen.draw([...block(batch, now), word.batch.ctrlC])
    },
    away(error, forMs, now) {
      const before = last === undefined ? [] : block(last, now)
      screen.draw([...before, ...wrap(word.batch.awayFor(spanText(forMs / 1000), error.in(language)), page - 1)])
    },
    over: () => screen.clear(),
    left: () => screen.leave(),
  }
}

/** Prints a line for each change; with --json a document. All other messages go to stderr. */
export function printedBy(output: Output): Display {
  const { word, language } = output
  let before = ''
  let isAway = false
  return {
    seen(batch, now) {
      if (isAway) output.note(word.batch.back)
      isAway = false
      const text = `${batch.state} ${batch.total} ${countsText(batch, output)}`
      // A batch that is over is printed as the result.
      if (text === before || isOver(batch)) return
      before = text
      output.answer(batchWire(batch), [changeLine(batch, now, output)])
    },
    away(error) {
      if (!isAway) output.note(word.batch.away(error.in(language)))
      isAway = true
    },
    over() {
      if (before !== '') output.say('')
    },
    left() {},
  }
}

const changeLine = (batch: BatchView, now: Date, output: Output): string =>
  [
    `${local(now)}  ${batch.state}`,
    percentText(batch, output.language),
    countsText(batch, output),
    paceText(batch, output),
  ]
    .filter(Boolean)
    .join('  ')
