/**
 * `retoma batch resume|retry-failed|pause|cancel|priority ID` and `skip ITEM…`: runs an action and reports the result in a
 * sentence, even if there was nothing to do. An action is safe to repeat and safe for many callers at once.
 */
import type { Command } from 'commander'
import { RetomaError } from '../../../errors/errors.ts'
import type { BatchActionResult, BatchView, Engine, JobActionResult, RetriedBatch } from '../../../index.ts'
import { cause as causeOf, wholeNumber, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { both, type CliMessages } from '../../messages/index.ts'
import { osUser } from '../../os-user.ts'
import type { Cli } from '../../program.ts'
import { applyToEach } from '../jobs/jobs-actions.ts'
import { isTaken } from '../jobs/jobs-enqueue.ts'
import { batchOf } from './batch-show.ts'

export function batchActionCommands(batch: Command, cli: Cli): void {
  const { help } = cli.output.word
  const subcommand = (name: string, description: string) =>
    batch.command(name).description(description).argument('<id>', help.batchId)
  subcommand('resume', help.batchResume).action(cli.action(resume))
  subcommand('retry-failed', help.batchRetryFailed)
    .option('--cause <cause>', help.cause, causeOf)
    .action(cli.action(retryFailed))
  subcommand('pause', help.batchPause).action(cli.action(pause))
  subcommand('cancel', help.batchCancel).action(cli.action(cancel))
  subcommand('priority', help.batchPriority)
    .argument('<n>', help.batchPriorityNumber, wholeNumber('N', 0, 9))
    .action(cli.action(priority))
  batch
    .command('skip')
    .description(help.batchSkip)
    .argument('<items...>', help.itemIds)
    .option('--reason <text>', help.skipReason)
    .action(cli.action(skip))
}

/** Runs the action, reads the batch before and afterwards, and reports the result. */
async function applyAction<T extends BatchActionResult>(
  context: Context,
  id: string,
  apply: (engine: Engine) => Promise<T>,
  sentence: (answer: T, words: CliMessages['batch'], batch: BatchView, before: BatchView) => string,
): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  await withEngine(context, {}, async engine => {
    const before = await batchOf(engine, id)
    const answer = await apply(engine)
    const batch = await batchOf(engine, id)
    output.answer(answer, [sentence(answer, output.word.batch, batch, before)])
    const isActive = ['submitting', 'waiting', 'running'].includes(batch.state)
    if (isActive && batch.running === 0 && !(await isTaken(batch, engine)))
      output.note(output.word.jobs.noWorker(batch.queue))
    if (batch.state === 'paused' && 'retried' in answer) output.note(output.word.batch.stillPaused(id))
  })
}

const pause = (context: Context, id: string) =>
  applyAction(
    context,
    id,
    engine => engine.batches.pause(id, osUser()),
    ({ changed }, words) => (changed ? words.paused(id) : words.pausedAlready(id)),
  )

const cancel = (context: Context, id: string) =>
  applyAction(
    context,
    id,
    engine => engine.batches.cancel(id, osUser()),
    ({ changed }, words) => (changed ? words.cancelled(id) : words.cancelledAlready(id)),
  )

const resume = (context: Context, id: string) =>
  applyAction(
    context,
    id,
    engine => engine.batches.resume(id, osUser()),
    ({ changed, resumed, state }, words, { resumes, maxResumes }, before) => {
      if (!changed) return words.resumedAlready(id, state)
      // Only the resume of a stalled batch is counted.
      return resumes === before.resumes
        ? words.resumedFromPause(id, resumed)
        : words.resumed(id, resumed, resumes, maxResumes)
    },
  )

const retryFailed = (context: Context, id: string, { cause }: { cause?: string }) =>
  applyAction(
    context,
    id,
    engine => engine.batches.retryFailed(id, { ...osUser(), ...(cause === undefined ? {} : { cause }) }),
    (answer, words) => retrySentence(answer, cause, words),
  )

function retrySentence(
  { id, retried, conflicts, changed }: RetriedBatch,
  cause: string | undefined,
  words: CliMessages['batch'],
) {
  if (retried > 0) return words.retried(id, retried, conflicts)
  if (changed) return words.goesOnWithout(id)
  if (conflicts > 0) return words.allConflict(id, conflicts)
  return cause === undefined ? words.retriedNone(id) : words.retriedNoneOfCause(id, cause)
}

const priority = (context: Context, id: string, number: number) =>
  applyAction(
    context,
    id,
    engine => engine.batches.setPriority(id, number, osUser()),
    ({ changed, moved }, words) => (changed ? words.priority(id, number, moved) : words.priorityAlready(id, number)),
  )

function skip(context: Context, ids: string[], { reason }: { reason?: string }): Promise<number> {
  const why = reason ?? context.output.word.batch.skippedByHand
  const line = ({ id, changed }: JobActionResult, { batch }: CliMessages) =>
    changed ? batch.skipped(id) : batch.skippedAlready(id)
  return applyToEach(context, ids, (engine, id) => skipItem(engine, id, why), line)
}

async function skipItem(engine: Engine, id: string, reason: string): Promise<JobActionResult> {
  const job = await engine.job(id)
  if (job === null && (await engine.batch(id)) !== null) throw wrongUse(({ wrong }) => wrong.batchNoItem(id))
  if (job === null || job.batchId === null)
    throw new RetomaError('not_found', { what: both(({ batch }) => batch.item), id })
  return engine.jobs.skip(id, reason, osUser())
}
